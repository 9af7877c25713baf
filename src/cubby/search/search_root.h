// Where a search starts, and the only way by which it opens anything.
#ifndef CUBBY_SEARCH_SEARCH_ROOT_H_
#define CUBBY_SEARCH_SEARCH_ROOT_H_

#include <fcntl.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cubby/base/unique_fd.h"
#include "cubby/file_type.h"

namespace cubby::search {

// Paths below a root are bounded as the kernel bounds a path.
inline constexpr size_t kMaxPathBytes = 4095;

// A folder or file that the caller named. Symlinks in and at the end of the named path are
// followed, as seen from `base` and never out of it; below the root none is.
class SearchRoot {
 public:
  // `path` is resolved below the folder `base` (for a whole machine, its "/"), borrowed for this
  // call. `shown` is what results are named by; it may differ from `path`. NOT_FOUND,
  // PERMISSION_DENIED, INVALID_ARGUMENT (NUL).
  static absl::StatusOr<SearchRoot> Open(int base, absl::string_view path, absl::string_view shown);

  // FAILED_PRECONDITION when the root is not a folder.
  [[nodiscard]] absl::Status RequireFolder() const;

  [[nodiscard]] FileType type() const { return type_; }
  [[nodiscard]] const std::string& shown() const { return shown_; }
  // For a folder: open for reading. Else an O_PATH descriptor.
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] dev_t device() const { return device_; }
  [[nodiscard]] ino_t inode() const { return inode_; }

  // The name in results of what stands at `relative`.
  [[nodiscard]] std::string Shown(absl::string_view relative) const;

  // Opens what stands at `relative` for reading; neither symlinks nor `..` are followed. -errno in
  // place of a descriptor.
  [[nodiscard]] int OpenBelow(const std::string& relative, int flags) const;

  // When the root is a file: the file, open for reading; else -1.
  [[nodiscard]] int file_fd() const { return file_.get(); }

 private:
  SearchRoot() = default;

  unique_fd fd_;
  unique_fd file_;
  FileType type_ = FileType::kDirectory;
  std::string shown_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// For files found in a walk. What was a file when its folder was read may be a FIFO by now, which
// O_NONBLOCK opens without waiting for a writer; callers look at the type after opening.
inline constexpr int kOpenFile = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
inline constexpr int kOpenFolder = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC;

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_SEARCH_ROOT_H_
