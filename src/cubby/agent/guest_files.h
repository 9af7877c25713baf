// Paths of the sandbox, opened so that they cannot lead out of it.
//
// Every path is resolved by openat2(2) below one root descriptor: symlinks stay inside, magic links
// of /proc are refused.
#ifndef CUBBY_AGENT_GUEST_FILES_H_
#define CUBBY_AGENT_GUEST_FILES_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cubby/base/unique_fd.h"

namespace cubby::agent {

// Who owns what the agent creates for its callers.
struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
};

class GuestFiles {
 public:
  // `root` is "/" in a machine that is all ours; tests use a folder.
  static absl::StatusOr<GuestFiles> Open(const std::string& root);

  // `path` is canonical and absolute.
  absl::StatusOr<unique_fd> OpenAt(const std::string& path, int flags, mode_t mode = 0) const;

  // A folder and a name in it. With kFollow a last component that is a symlink has been replaced
  // by where it points, so that replacing the name replaces the file and not the link.
  struct Entry {
    unique_fd directory;
    std::string name;
  };
  enum class LastLink { kKeep, kFollow };
  enum class Parents { kMustExist, kCreate };
  absl::StatusOr<Entry> Locate(const std::string& path, LastLink last, Parents parents,
                               const Owner& owner) const;

  // mkdir -p; created folders belong to `owner`.
  absl::StatusOr<unique_fd> MakeDirectories(const std::string& path, const Owner& owner) const;

  // A whole small file; NOT_FOUND, or RESOURCE_EXHAUSTED above 1 MiB.
  absl::StatusOr<std::string> ReadSmall(const std::string& path) const;

  [[nodiscard]] int root() const { return root_.get(); }

 private:
  explicit GuestFiles(unique_fd root) : root_(std::move(root)) {}
  absl::StatusOr<Entry> LocateDepth(const std::string& path, LastLink last, Parents parents,
                                    const Owner& owner, int depth) const;
  unique_fd root_;
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_GUEST_FILES_H_
