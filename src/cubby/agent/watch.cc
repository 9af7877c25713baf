#include "cubby/agent/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/sandbox.h"
#include "cubby/status.h"

namespace cubby::agent {
namespace {

constexpr size_t kMaxFolders = 64 << 10;
constexpr int kMaxChangesPerEvent = 256;
constexpr uint32_t kMask = IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                           IN_ATTRIB | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK;

WatchEvent::Kind KindOf(uint32_t mask) {
  if ((mask & IN_CREATE) != 0) return WatchEvent::Kind::kCreated;
  if ((mask & IN_MOVED_TO) != 0) return WatchEvent::Kind::kMoved;
  if ((mask & (IN_DELETE | IN_MOVED_FROM)) != 0) return WatchEvent::Kind::kRemoved;
  if ((mask & IN_ATTRIB) != 0) return WatchEvent::Kind::kAttributes;
  return WatchEvent::Kind::kModified;
}

class FolderWatcher {
 public:
  FolderWatcher(unique_fd inotify, const GuestFiles* files)
      : inotify_(std::move(inotify)), files_(files) {}

  [[nodiscard]] int fd() const { return inotify_.get(); }

  // Watches `path` and all folders below it. With `changes` what is found is reported as created.
  absl::Status Add(const std::string& path, wire::Changes* changes) {
    std::vector<std::string> pending = {path};
    while (!pending.empty()) {
      const std::string folder = std::move(pending.back());
      pending.pop_back();
      absl::StatusOr<unique_fd> fd = files_->OpenAt(folder, O_RDONLY | O_DIRECTORY);
      if (!fd.ok()) {
        if (folder == path && changes == nullptr) return fd.status();
        continue;  // gone again, or not a folder any more
      }
      if (folders_.size() >= kMaxFolders) {
        return absl::ResourceExhaustedError(
            absl::StrCat("watch: more than ", kMaxFolders, " folders"));
      }
      // By descriptor: the path could mean another folder by now.
      const std::string by_descriptor = absl::StrCat("/proc/self/fd/", fd->get(), "/.");
      const int watch = inotify_add_watch(inotify_.get(), by_descriptor.c_str(), kMask);
      if (watch < 0) {
        if (errno == ENOENT) continue;
        return ErrnoError(errno, "watch", folder);
      }
      folders_[watch] = folder;
      DIR* dir = fdopendir(fd->release());
      if (dir == nullptr) return ErrnoError(errno, "read", folder);
      while (const dirent* item = readdir(dir)) {
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
        std::string child = JoinPath(folder, item->d_name);
        if (changes != nullptr) AddChange(WatchEvent::Kind::kCreated, child, changes);
        if (item->d_type == DT_DIR) pending.push_back(std::move(child));
      }
      closedir(dir);
    }
    return absl::OkStatus();
  }

  // The next batch of changes; empty when there are none now.
  absl::Status Read(wire::Changes* changes) {
    alignas(inotify_event) char buffer[4096];
    const ssize_t n = read(inotify_.get(), buffer, sizeof(buffer));
    if (n < 0)
      return errno == EAGAIN || errno == EINTR ? absl::OkStatus() : ErrnoError(errno, "read");
    for (const char* at = buffer; at < buffer + n;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      if ((event->mask & IN_Q_OVERFLOW) != 0) {
        AddChange(WatchEvent::Kind::kOverflow, "", changes);
        continue;
      }
      if ((event->mask & IN_IGNORED) != 0) {
        folders_.erase(event->wd);
        continue;
      }
      auto found = folders_.find(event->wd);
      if (found == folders_.end() || event->len == 0) continue;
      const std::string path = JoinPath(found->second, event->name);
      AddChange(KindOf(event->mask), path, changes);
      if ((event->mask & IN_ISDIR) != 0 && (event->mask & (IN_CREATE | IN_MOVED_TO)) != 0) {
        CUBBY_RETURN_IF_ERROR(Add(path, changes));
      }
    }
    return absl::OkStatus();
  }

 private:
  static void AddChange(WatchEvent::Kind kind, const std::string& path, wire::Changes* changes) {
    wire::Change* change = changes->add_changes();
    change->set_kind(static_cast<uint32_t>(kind));
    change->set_path(path);
  }

  unique_fd inotify_;
  const GuestFiles* files_;
  std::unordered_map<int, std::string> folders_;
};

// Sends in pieces that fit a frame whatever the names' lengths.
Task<absl::Status> SendChanges(StreamPtr stream, wire::Changes changes) {
  for (int from = 0; from < changes.changes_size();) {
    wire::Event event;
    for (int n = 0; n < kMaxChangesPerEvent && from < changes.changes_size(); ++n, ++from) {
      event.mutable_changes()->mutable_changes()->Add()->Swap(changes.mutable_changes(from));
      if (event.ByteSizeLong() > wire::kMaxPayloadBytes / 2) {
        ++from;
        break;
      }
    }
    while (stream->open() && stream->Credit() == 0) co_await stream->waker.Wait();
    if (!stream->open()) co_return stream->status();
    stream->SendEvent(event);
  }
  co_return absl::OkStatus();
}

}  // namespace

Task<absl::Status> WatchFolder(EventLoop* loop, const GuestFiles* files, StreamPtr stream,
                               std::string path) {
  unique_fd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify.valid()) co_return ErrnoError(errno, "inotify_init");
  FolderWatcher watcher(std::move(inotify), files);
  absl::Status status = watcher.Add(path, nullptr);
  if (!status.ok()) co_return status;
  wire::Event ready;
  ready.mutable_changes();
  stream->SendEvent(ready);
  status = loop->Watch(watcher.fd(), EPOLLIN | EPOLLET,
                       [raw = stream.get()](uint32_t) { raw->waker.Wake(); });
  while (status.ok()) {
    if (!stream->open()) {
      status = stream->status();
      break;
    }
    wire::Changes changes;
    status = watcher.Read(&changes);
    if (!status.ok()) break;
    if (changes.changes_size() > 0) {
      status = co_await SendChanges(stream, std::move(changes));
    } else {
      co_await stream->waker.Wait();
    }
  }
  loop->Unwatch(watcher.fd());
  co_return status;
}

}  // namespace cubby::agent
