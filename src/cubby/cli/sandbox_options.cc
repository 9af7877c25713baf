#include "cubby/cli/sandbox_options.h"

#include <errno.h>
#include <stdlib.h>

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby::cli {

// What `cubby image build-base` makes.
constexpr char kBaseImage[] = "cubby/base";

SandboxOptions::SandboxOptions() {
  const char* const chosen = getenv("CUBBY_IMAGE");
  image = chosen != nullptr && *chosen != '\0' ? chosen : kBaseImage;
}

std::vector<Option> SandboxOptionDeclarations(SandboxOptions* options) {
  std::vector<Option> declared = {
      WithCompletion(Text("--image", "IMAGE", &options->image,
                          "the OCI image to run in; $CUBBY_IMAGE changes the default"),
                     Completes::kImage),
      Size("-m,--memory", &options->limits.memory_bytes, "memory limit, swap included"),
      Decimal("--cpus", "N", &options->limits.cpus, "CPU limit, in cores"),
      Integer("--processes", "N", &options->limits.processes, 1, "limit of processes and threads"),
      Texts("--mount", "HOST:GUEST[:ro]", &options->mounts,
            "show a folder or file of this machine in the sandbox, read-only with :ro"),
      Texts("--label", "KEY=VALUE", &options->labels, "a note that ps shows"),
      Text("--hostname", "NAME", &options->hostname, "the sandbox's host name"),
      Span("--ready-timeout", &options->ready_timeout, "how long the sandbox may take to start"),
  };
  // The default depends on the environment, and the manual must not.
  declared[0].default_text = kBaseImage;
  for (Option& option : PullFlagDeclarations(&options->pull)) declared.push_back(std::move(option));
  return declared;
}

Positional ImagePositional(SandboxOptions* options) {
  Positional image = Word("IMAGE", &options->image, Completes::kImage,
                          "the same as --image, which leaves it out", Need::kOptional);
  image.replaced_by_option = "image";
  return image;
}

absl::StatusOr<Mount> ParseMount(const std::string& text) {
  Mount mount;
  absl::string_view rest = text;
  if (absl::ConsumeSuffix(&rest, ":ro")) {
    mount.access = MountAccess::kReadOnly;
  } else {
    absl::ConsumeSuffix(&rest, ":rw");
  }
  const size_t colon = rest.rfind(':');
  if (colon == absl::string_view::npos || colon == 0 || colon + 1 == rest.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--mount ", text, ": write it as HOST:GUEST or HOST:GUEST:ro"));
  }
  const std::string host(rest.substr(0, colon));
  mount.guest_path = std::string(rest.substr(colon + 1));
  if (mount.guest_path[0] != '/') {
    return absl::InvalidArgumentError(absl::StrCat("--mount ", text, ": the path in the sandbox, ",
                                                   mount.guest_path, ", must be absolute"));
  }
  const std::unique_ptr<char, decltype(&free)> real(realpath(host.c_str(), nullptr), &free);
  if (real == nullptr) return ErrnoError(errno, "--mount: find", host);
  mount.host_path = real.get();
  return mount;
}

absl::StatusOr<SandboxSpec> SpecOf(const SandboxOptions& options) {
  SandboxSpec spec;
  spec.image = options.image;
  spec.limits = options.limits;
  spec.hostname = options.hostname;
  spec.timeout = options.ready_timeout;
  for (const std::string& text : options.mounts) {
    CUBBY_ASSIGN_OR_RETURN(Mount mount, ParseMount(text));
    spec.mounts.push_back(std::move(mount));
  }
  for (const std::string& label : options.labels) {
    const size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(absl::StrCat("--label ", label, ": write it as KEY=VALUE"));
    }
    spec.labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  return spec;
}

}  // namespace cubby::cli
