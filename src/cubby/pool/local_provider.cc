#include "cubby/pool/local_provider.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/env_policy.h"
#include "cubby/base/ids.h"
#include "cubby/base/log.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {

absl::StatusOr<Created> LocalProvider::Create(const SandboxSpec& spec) {
  CUBBY_RETURN_IF_ERROR(CheckEnvironment(spec.environment));
  SandboxSpec numbered = spec;
  if (numbered.id.empty()) numbered.id = RandomHex(8);
  const Deadline deadline = Deadline::After(spec.timeout);
  Created created;
  CUBBY_ASSIGN_OR_RETURN(const MachineInfo machine,
                         backend_->Create(numbered, deadline, &created.stages));
  const absl::Duration since = MonotonicNow();
  absl::StatusOr<std::shared_ptr<Sandbox>> sandbox =
      access_.Configure(numbered.id, spec, machine, deadline);
  if (!sandbox.ok()) {
    const std::string console = backend_->ConsoleLog(numbered.id).value_or("");
    if (absl::Status undone = backend_->Kill(numbered.id); !undone.ok()) {
      Log(Severity::kWarning,
          absl::StrCat("sandbox ", numbered.id, " could not be removed: ", undone.message()));
    }
    return Annotate(sandbox.status(),
                    console.empty()
                        ? "the sandbox's agent"
                        : absl::StrCat("the sandbox's agent (it printed: ", console, ")"));
  }
  created.stages.push_back({.name = "agent", .duration = MonotonicNow() - since});
  created.sandbox = *std::move(sandbox);
  return created;
}

absl::StatusOr<std::shared_ptr<Sandbox>> LocalProvider::Get(const std::string& id) {
  CUBBY_ASSIGN_OR_RETURN(const MachineInfo machine, backend_->Inspect(id));
  if (machine.state == SandboxState::kDead) {
    return MakeError(absl::StatusCode::kUnavailable,
                     absl::StrCat("sandbox ", id, " has died; remove it with `cubby rm ", id, "`"),
                     {.fate = Fate::kTerminal});
  }
  if (machine.state == SandboxState::kCreating) {
    return MakeError(absl::StatusCode::kUnavailable,
                     absl::StrCat("sandbox ", id, " is still being made"),
                     {.fate = Fate::kRetryable});
  }
  return access_.Open(id, id);
}

absl::StatusOr<std::vector<SandboxInfo>> LocalProvider::List() {
  CUBBY_ASSIGN_OR_RETURN(const std::vector<MachineInfo> machines, backend_->List());
  std::vector<SandboxInfo> sandboxes;
  for (const MachineInfo& machine : machines) {
    sandboxes.push_back({.id = machine.id,
                         .image = machine.image,
                         .backend = backend_->name(),
                         .state = machine.state,
                         .created = machine.created,
                         .limits = machine.limits,
                         .labels = machine.labels,
                         .layers = machine.layers});
  }
  return sandboxes;
}

absl::Status LocalProvider::Remove(const std::string& id) { return backend_->Kill(id); }

absl::StatusOr<std::string> LocalProvider::ConsoleLog(const std::string& id) {
  return backend_->ConsoleLog(id);
}

}  // namespace cubby
