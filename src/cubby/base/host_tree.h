// A folder of this machine that files are copied into or out of.
//
// Names below it come from sandboxes, which are hostile. Every path is therefore resolved by the
// kernel below one open folder, without following any symlink (openat2(2), RESOLVE_BENEATH and
// RESOLVE_NO_SYMLINKS), at each use: a link that appears under us is refused too.
#ifndef CUBBY_BASE_HOST_TREE_H_
#define CUBBY_BASE_HOST_TREE_H_

#include <stdint.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cubby/base/unique_fd.h"
#include "cubby/sandbox.h"

namespace cubby {

class HostTree {
 public:
  // `path` is the person's own word, so symlinks in it are followed.
  static absl::StatusOr<HostTree> Open(const std::string& path);

  // Paths are relative to the folder, "a/b"; an empty one is the folder itself.
  [[nodiscard]] absl::StatusOr<HostTree> Below(const std::string& path) const;
  [[nodiscard]] absl::StatusOr<FileInfo> Stat(const std::string& path) const;
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> List(const std::string& path) const;
  [[nodiscard]] absl::StatusOr<unique_fd> OpenToRead(const std::string& path) const;

  // A folder that is there already is fine; a symlink to one is FAILED_PRECONDITION.
  [[nodiscard]] absl::Status MakeDirectory(const std::string& path) const;
  [[nodiscard]] absl::Status SetDirectoryMode(const std::string& path, uint32_t mode) const;
  // Replaces what has that name (a symlink itself, not what it points to) when `fill` has written
  // everything; when it fails, nothing is left.
  [[nodiscard]] absl::Status WriteFile(
      const std::string& path, uint32_t mode,
      const std::function<absl::Status(const ByteSink&)>& fill) const;
  // PERMISSION_DENIED for a target that could lead out of the folder.
  [[nodiscard]] absl::Status MakeSymlink(const std::string& path, const std::string& target) const;

 private:
  HostTree(std::string name, unique_fd root) : name_(std::move(name)), root_(std::move(root)) {}

  absl::StatusOr<unique_fd> OpenBeneath(const std::string& path, int flags) const;
  // The folder that holds `path`, and the last part of it.
  struct Place {
    unique_fd folder;
    std::string name;
  };
  absl::StatusOr<Place> Find(const std::string& path) const;
  // For messages: the path as the person knows it.
  [[nodiscard]] std::string Shown(const std::string& path) const;

  std::string name_;
  unique_fd root_;
};

// Whether a symlink at `path` (relative to a root) that says `target` stays below the root. Leading
// `..` parts are counted against the real folders above it; later ones are refused, because what
// stands before them may be a symlink itself.
[[nodiscard]] bool StaysBelow(const std::string& path, const std::string& target);

}  // namespace cubby

#endif  // CUBBY_BASE_HOST_TREE_H_
