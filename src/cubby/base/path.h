// Virtual paths: the absolute paths by which callers name files in a sandbox.
//
// Names are bytes: any byte but NUL and '/' is part of a name (contract, "paths").
#ifndef CUBBY_BASE_PATH_H_
#define CUBBY_BASE_PATH_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cubby {

inline constexpr char kWorkspace[] = "/mnt/user-data/workspace";
inline constexpr char kUserData[] = "/mnt/user-data";

// The canonical absolute form: relative paths are put under `base`, repeated slashes and `.`
// segments vanish, a trailing slash is dropped. INVALID_ARGUMENT for an empty path, a NUL or more
// than 4095 bytes; PERMISSION_DENIED for a `..` segment. [P-10, P-11]
absl::StatusOr<std::string> NormalizePath(absl::string_view path,
                                          absl::string_view base = kWorkspace);

// True when `path` (canonical) is `root` or below it; a whole-segment test. [C-72]
bool IsWithin(absl::string_view path, absl::string_view root);

// The part of a path after its last slash, and the part before it ("/" for a top-level name).
absl::string_view Basename(absl::string_view path);
absl::string_view Dirname(absl::string_view path);

std::string JoinPath(absl::string_view directory, absl::string_view name);

}  // namespace cubby

#endif  // CUBBY_BASE_PATH_H_
