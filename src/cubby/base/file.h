// Small files of the host: read and replace whole, make and remove folders.
//
// For the engine's own state. Files of a sandbox are read and written by the agent in it.
#ifndef CUBBY_BASE_FILE_H_
#define CUBBY_BASE_FILE_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cubby/base/unique_fd.h"

namespace cubby {

inline constexpr size_t kMaxSmallFileBytes = 64 << 20;

// RESOURCE_EXHAUSTED when the file holds more than `max_bytes`.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path,
                                          size_t max_bytes = kMaxSmallFileBytes);

// Replaces the file in one step: a reader sees the old or the new content, also after a crash.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content,
                                 mode_t mode = 0600);

// The same without the sync: after a crash of the host the file may be empty.
absl::Status ReplaceFile(const std::string& path, absl::string_view content, mode_t mode = 0600);

// The content of a regular file, into a file that is made or overwritten; shares blocks where the
// file system can.
absl::Status CopyFile(const std::string& from, const std::string& to, mode_t mode = 0644);

// Writes into an existing file as it is (cgroup and proc files).
absl::Status WriteExisting(const std::string& path, absl::string_view content);

absl::Status WriteAll(int fd, absl::string_view bytes);

// mkdir -p. Folders that are already there keep their mode.
absl::Status MakeDirectories(const std::string& path, mode_t mode = 0700);

// rm -r, never following a symlink and never crossing into another mount. A missing path is fine.
absl::Status RemoveTree(const std::string& path);

// Names in a folder without "." and "..", sorted. NOT_FOUND when it is missing.
absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path);

bool FileExists(const std::string& path);

// A folder that is removed with all its content at the end of its life.
class TemporaryDirectory {
 public:
  // `parent`/`prefix`XXXXXX
  static absl::StatusOr<TemporaryDirectory> Create(const std::string& parent,
                                                   absl::string_view prefix);
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// An flock(2) on a file, exclusive unless said, released by the kernel when the process dies.
class FileLock {
 public:
  // Waits. The file is created when missing and stays.
  static absl::StatusOr<FileLock> Acquire(const std::string& path);
  // Waits. Many may hold it so at once, and nobody exclusively.
  static absl::StatusOr<FileLock> AcquireShared(const std::string& path);
  // Waits. A folder can be locked too; NOT_FOUND when it is missing.
  static absl::StatusOr<FileLock> AcquireDirectory(const std::string& path);
  // UNAVAILABLE (retryable) when somebody else holds it.
  static absl::StatusOr<FileLock> TryAcquire(const std::string& path);

 private:
  explicit FileLock(unique_fd fd) : fd_(std::move(fd)) {}
  unique_fd fd_;
};

}  // namespace cubby

#endif  // CUBBY_BASE_FILE_H_
