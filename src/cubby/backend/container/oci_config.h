// config.json of a container (OCI runtime specification 1.0): all that isolates it, in one place.
#ifndef CUBBY_BACKEND_CONTAINER_OCI_CONFIG_H_
#define CUBBY_BACKEND_CONTAINER_OCI_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "cubby/provider.h"

namespace cubby {

inline constexpr char kGuestAgent[] = "/.cubby/agent";

// How the runtime is told the filter of seccomp_rules.h.
enum class SeccompForm {
  kCompiled,  // crun loads the program as it is
  kRules,     // every runtime compiles the rules itself
};

struct OciConfigOptions {
  std::string agent_path;  // on the host
  std::string rootfs;
  std::string cgroups_path;  // empty: the runtime leaves control groups alone
  SeccompForm seccomp = SeccompForm::kRules;
};

// INVALID_ARGUMENT for a mount that is not allowed, NOT_FOUND for a missing host path.
absl::StatusOr<std::string> MakeOciConfig(const SandboxSpec& spec, const OciConfigOptions& options);

}  // namespace cubby

#endif  // CUBBY_BACKEND_CONTAINER_OCI_CONFIG_H_
