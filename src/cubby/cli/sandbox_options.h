// The options by which `run` and `create` describe a sandbox.
#ifndef CUBBY_CLI_SANDBOX_OPTIONS_H_
#define CUBBY_CLI_SANDBOX_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cubby/cli/declaration.h"
#include "cubby/cli/pull.h"
#include "cubby/provider.h"

namespace cubby::cli {

struct SandboxOptions {
  SandboxOptions();
  std::string image;  // the default is $CUBBY_IMAGE, else the base image
  Limits limits;
  std::vector<std::string> mounts;
  std::vector<std::string> labels;
  std::string hostname = "cubby";
  absl::Duration ready_timeout = absl::Seconds(60);
  PullFlags pull;
};

std::vector<Option> SandboxOptionDeclarations(SandboxOptions* options);
Positional ImagePositional(SandboxOptions* options);

// "HOST:GUEST[:ro|rw]"; a relative host path is made absolute.
absl::StatusOr<Mount> ParseMount(const std::string& text);

absl::StatusOr<SandboxSpec> SpecOf(const SandboxOptions& options);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_SANDBOX_OPTIONS_H_
