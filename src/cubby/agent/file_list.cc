#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cubby/agent/file_info.h"
#include "cubby/agent/files.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby::agent {
namespace {

constexpr uint32_t kMaxDepth = 256;
constexpr size_t kBatchBytes = 64 << 10;

// One folder on the way down: its names in byte order, and the next to be visited.
struct Level {
  unique_fd fd;
  std::string path;
  std::vector<std::string> names;
  size_t next = 0;
};

absl::StatusOr<std::vector<std::string>> SortedNames(int directory, const std::string& path) {
  const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = copy >= 0 ? fdopendir(copy) : nullptr;
  if (dir == nullptr) {
    const absl::Status status = ErrnoError(errno, "read", path);
    if (copy >= 0) close(copy);
    return status;
  }
  std::vector<std::string> names;
  while (const dirent* item = readdir(dir)) {
    if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
    names.emplace_back(item->d_name);
  }
  closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Task<absl::Status> Files::List(StreamPtr stream, wire::List request) {
  absl::StatusOr<std::string> path = NormalizePath(request.path(), settings_->working_directory);
  if (!path.ok()) co_return path.status();
  absl::StatusOr<unique_fd> root = files_->OpenAt(*path, O_RDONLY | O_DIRECTORY);
  if (!root.ok()) co_return root.status();
  absl::StatusOr<std::vector<std::string>> names = SortedNames(root->get(), *path);
  if (!names.ok()) co_return names.status();
  std::vector<Level> levels;
  levels.push_back({.fd = *std::move(root), .path = *path, .names = *std::move(names)});

  const uint32_t max_depth = std::clamp<uint32_t>(request.max_depth(), 1, kMaxDepth);
  uint64_t sent = 0;
  wire::Event event;
  wire::FileList* batch = event.mutable_files();
  size_t batch_bytes = 0;
  uint64_t unreadable = 0;
  uint64_t ignored = 0;
  bool truncated = false;
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.names.size()) {
      levels.pop_back();
      continue;
    }
    const std::string name = std::move(level.names[level.next++]);
    if (request.apply_ignore_rules() && ignore_.Matches(name)) {
      ++ignored;
      continue;
    }
    wire::File file;
    const std::string child = JoinPath(level.path, name);
    if (!StatEntry(level.fd.get(), name, child, &file).ok()) continue;  // it has gone meanwhile
    if (sent == request.max_entries()) {
      truncated = true;
      break;
    }
    ++sent;
    const bool descend = S_ISDIR(file.type()) && levels.size() < max_depth;
    batch_bytes += file.ByteSizeLong() + 8;
    *batch->add_files() = std::move(file);
    if (descend) {
      unique_fd fd(
          openat(level.fd.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      absl::StatusOr<std::vector<std::string>> below =
          fd.valid() ? SortedNames(fd.get(), child) : ErrnoError(errno, "open", child);
      if (below.ok()) {
        levels.push_back({.fd = std::move(fd), .path = child, .names = *std::move(below)});
      } else {
        ++unreadable;
      }
    }
    if (batch_bytes >= kBatchBytes) {
      while (stream->open() && stream->Credit() == 0) co_await stream->waker.Wait();
      if (!stream->open()) co_return stream->status();
      stream->SendEvent(event);
      batch->Clear();
      batch_bytes = 0;
      co_await stream->waker.Yield();
    }
  }
  batch->set_truncated(truncated || unreadable > 0);
  batch->set_unreadable(unreadable);
  batch->set_ignored(ignored);
  while (stream->open() && stream->Credit() == 0) co_await stream->waker.Wait();
  stream->SendEvent(event);
  co_return absl::OkStatus();
}

}  // namespace cubby::agent
