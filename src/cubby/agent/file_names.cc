#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "cubby/agent/file_info.h"
#include "cubby/agent/files.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby::agent {
Task<absl::Status> Files::Stat(StreamPtr stream, wire::Stat request) {
  absl::StatusOr<std::string> path = NormalizePath(request.path(), settings_->working_directory);
  if (!path.ok()) co_return path.status();
  wire::Event event;
  wire::File* file = event.mutable_files()->add_files();
  if (*path == "/") {
    absl::StatusOr<unique_fd> root = files_->OpenAt("/", O_PATH | O_DIRECTORY);
    if (!root.ok()) co_return root.status();
    if (absl::Status status = StatEntry(root->get(), ".", *path, file); !status.ok()) {
      co_return status;
    }
  } else {
    absl::StatusOr<GuestFiles::Entry> entry = files_->Locate(
        *path, GuestFiles::LastLink::kKeep, GuestFiles::Parents::kMustExist, settings_->owner);
    if (!entry.ok()) co_return entry.status();
    if (absl::Status status = StatEntry(entry->directory.get(), entry->name, *path, file);
        !status.ok()) {
      co_return status;
    }
  }
  stream->SendEvent(event);
  co_return absl::OkStatus();
}

absl::Status Files::MakeDir(const wire::MakeDir& request) {
  CUBBY_ASSIGN_OR_RETURN(const std::string path,
                         NormalizePath(request.path(), settings_->working_directory));
  return files_->MakeDirectories(path, settings_->owner).status();
}

absl::Status Files::Rename(const wire::Rename& request) {
  CUBBY_ASSIGN_OR_RETURN(const std::string from,
                         NormalizePath(request.from(), settings_->working_directory));
  CUBBY_ASSIGN_OR_RETURN(const std::string to,
                         NormalizePath(request.to(), settings_->working_directory));
  CUBBY_ASSIGN_OR_RETURN(const GuestFiles::Entry source,
                         files_->Locate(from, GuestFiles::LastLink::kKeep,
                                        GuestFiles::Parents::kMustExist, settings_->owner));
  CUBBY_ASSIGN_OR_RETURN(const GuestFiles::Entry target,
                         files_->Locate(to, GuestFiles::LastLink::kKeep,
                                        GuestFiles::Parents::kCreate, settings_->owner));
  if (renameat(source.directory.get(), source.name.c_str(), target.directory.get(),
               target.name.c_str()) != 0) {
    return ErrnoError(errno, "rename", from);
  }
  return absl::OkStatus();
}

Task<absl::Status> Files::Remove(StreamPtr stream, wire::Remove request) {
  absl::StatusOr<std::string> path = NormalizePath(request.path(), settings_->working_directory);
  if (!path.ok()) co_return path.status();
  absl::StatusOr<GuestFiles::Entry> entry = files_->Locate(
      *path, GuestFiles::LastLink::kKeep, GuestFiles::Parents::kMustExist, settings_->owner);
  if (!entry.ok()) co_return entry.status();
  if (unlinkat(entry->directory.get(), entry->name.c_str(), 0) == 0) co_return absl::OkStatus();
  if (errno != EISDIR && errno != EPERM) co_return ErrnoError(errno, "remove", *path);
  if (!request.recursive()) {
    if (unlinkat(entry->directory.get(), entry->name.c_str(), AT_REMOVEDIR) == 0) {
      co_return absl::OkStatus();
    }
    co_return ErrnoError(errno, "remove", *path);
  }
  // Depth first with a stack of open folders: names may not be followed out of the tree, and no
  // path is ever resolved twice.
  struct Level {
    DIR* dir;
    std::string name;  // in its parent
  };
  std::vector<Level> levels;
  absl::Status status;
  const auto enter = [&](int parent, const std::string& name) {
    const int fd = openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR* dir = fd >= 0 ? fdopendir(fd) : nullptr;
    if (dir == nullptr) {
      status = ErrnoError(errno, "open", *path);
      if (fd >= 0) close(fd);
      return;
    }
    levels.push_back({dir, name});
  };
  enter(entry->directory.get(), entry->name);
  size_t steps = 0;
  while (status.ok() && !levels.empty()) {
    if (++steps % 256 == 0) {
      co_await stream->waker.Yield();
      if (!stream->open()) status = stream->status();
      if (!status.ok()) break;
    }
    const Level level = levels.back();
    errno = 0;
    const dirent* item = readdir(level.dir);
    if (item == nullptr) {
      if (errno != 0) {
        status = ErrnoError(errno, "read", *path);
        break;
      }
      closedir(level.dir);
      levels.pop_back();
      const int parent = levels.empty() ? entry->directory.get() : dirfd(levels.back().dir);
      if (unlinkat(parent, level.name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
        status = ErrnoError(errno, "remove", *path);
      }
      continue;
    }
    const std::string name = item->d_name;
    if (name == "." || name == "..") continue;
    if (unlinkat(dirfd(level.dir), name.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) {
      status = ErrnoError(errno, "remove", JoinPath(*path, name));
      break;
    }
    enter(dirfd(level.dir), name);
  }
  for (const Level& level : levels) closedir(level.dir);
  co_return status;
}

}  // namespace cubby::agent
