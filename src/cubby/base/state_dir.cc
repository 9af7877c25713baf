#include "cubby/base/state_dir.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cubby/base/file.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr int kLayoutVersion = 1;

}  // namespace

std::string StateDir::DefaultRoot() {
  if (const char* root = getenv("CUBBY_STATE_DIR"); root != nullptr && *root != '\0') return root;
  if (geteuid() == 0) return "/var/lib/cubby";
  if (const char* state = getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return absl::StrCat(state, "/cubby");
  }
  const char* home = getenv("HOME");
  return absl::StrCat(home != nullptr ? home : "", "/.local/state/cubby");
}

absl::StatusOr<StateDir> StateDir::Open(const std::string& root) {
  if (root.empty() || root[0] != '/') {
    return absl::InvalidArgumentError(
        absl::StrCat("state directory \"", root, "\": must be an absolute path"));
  }
  CUBBY_RETURN_IF_ERROR(MakeDirectories(root));
  // The kernel's lists of mounts name paths without symlinks and doubled slashes, and mounts below
  // this folder are looked for in them.
  const std::unique_ptr<char, decltype(&free)> real(realpath(root.c_str(), nullptr), &free);
  if (real == nullptr) return ErrnoError(errno, "find the state directory", root);
  StateDir state{std::string(real.get())};
  for (const std::string& folder : {state.images(), state.machines(), state.runtime()}) {
    CUBBY_RETURN_IF_ERROR(MakeDirectories(folder));
  }
  const std::string version_file = state.root_ + "/version";
  absl::StatusOr<std::string> version = ReadSmallFile(version_file, 64);
  if (absl::IsNotFound(version.status())) {
    CUBBY_RETURN_IF_ERROR(WriteFileAtomically(version_file, absl::StrCat(kLayoutVersion, "\n")));
    return state;
  }
  CUBBY_RETURN_IF_ERROR(version.status());
  int found = 0;
  if (!absl::SimpleAtoi(*version, &found) || found > kLayoutVersion) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("state directory ", root,
                                  ": its layout version is not known to this cubby (it knows ",
                                  kLayoutVersion, "); use a newer cubby or another --state-dir"),
                     {.path = root});
  }
  return state;
}

std::string StateDir::machine(absl::string_view id) const {
  return absl::StrCat(machines(), "/", id);
}

}  // namespace cubby
