#include "cubby/cli/context.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cubby/base/ids.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/output.h"

namespace cubby::cli {

absl::StatusOr<SandboxProvider*> Context::Provider() {
  if (provider_ == nullptr) {
    CUBBY_ASSIGN_OR_RETURN(provider_, engine_.provider(global));
  }
  return provider_.get();
}

absl::StatusOr<ImageStore*> Context::Images() {
  if (images_ == nullptr) {
    CUBBY_ASSIGN_OR_RETURN(images_, engine_.images(global));
  }
  return images_.get();
}

absl::StatusOr<std::string> Context::ResolveId(absl::string_view prefix) {
  if (IsSandboxId(prefix)) return std::string(prefix);
  if (prefix.empty()) return absl::InvalidArgumentError("the sandbox's id is empty");
  CUBBY_ASSIGN_OR_RETURN(SandboxProvider * provider, Provider());
  CUBBY_ASSIGN_OR_RETURN(const std::vector<SandboxInfo> sandboxes, provider->List());
  std::vector<std::string> found;
  for (const SandboxInfo& sandbox : sandboxes) {
    if (absl::StartsWith(sandbox.id, prefix)) found.push_back(sandbox.id);
  }
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("there is no sandbox '", prefix, "'; 'cubby ps' shows those there are"));
  }
  return absl::InvalidArgumentError(absl::StrCat("'", prefix, "' is the beginning of ",
                                                 found.size(), " ids (", absl::StrJoin(found, ", "),
                                                 "); give more of it"));
}

absl::StatusOr<std::shared_ptr<Sandbox>> Context::FindSandbox(absl::string_view prefix) {
  CUBBY_ASSIGN_OR_RETURN(const std::string id, ResolveId(prefix));
  CUBBY_ASSIGN_OR_RETURN(SandboxProvider * provider, Provider());
  return provider->Get(id);
}

absl::Status Context::Print(absl::string_view text) const { return WriteFully(out(), text); }

void Context::Say(absl::string_view line) const {
  // Standard error is the last place to say anything: when it is closed, nobody listens.
  WriteFully(err(), absl::StrCat("cubby: ", Escape(line), "\n")).IgnoreError();
}

void Context::SayVerbosely(absl::string_view line) const {
  if (global.verbose) Say(line);
}

void Context::Report(const absl::Status& status) const {
  if (global.json && PrintJson(*this, ErrorJson(status)).ok()) return;
  Say(status.message());
}

}  // namespace cubby::cli
