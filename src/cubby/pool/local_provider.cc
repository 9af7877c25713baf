#include "cubby/pool/local_provider.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/ids.h"
#include "cubby/base/log.h"
#include "cubby/base/status_macros.h"
#include "cubby/sandbox/agent_sandbox.h"
#include "cubby/status.h"

namespace cubby {
namespace {

std::shared_ptr<AgentSandbox> MakeSandbox(std::shared_ptr<Backend> backend, const std::string& id) {
  return std::make_shared<AgentSandbox>(
      id, [backend = std::move(backend), id] { return backend->Connect(id); });
}

// The image's environment, and the caller's over it.
absl::StatusOr<SandboxSettings> SettingsFor(const SandboxSpec& spec,
                                            const GuestDefaults& defaults) {
  SandboxSettings settings{.user = defaults.user};
  for (const std::string& entry : defaults.environment) {
    // An image may carry entries that no shell could set; they are not worth failing for.
    if (absl::Status status = ParseEnvironmentEntry(entry, &settings.environment); !status.ok()) {
      Log(Severity::kInfo, absl::StrCat("image ", spec.image, ": ", status.message()));
    }
  }
  settings.environment = MergeEnvironment(settings.environment, spec.environment);
  return settings;
}

}  // namespace

absl::StatusOr<Created> LocalProvider::Create(const SandboxSpec& spec) {
  CUBBY_RETURN_IF_ERROR(CheckEnvironment(spec.environment));
  SandboxSpec numbered = spec;
  if (numbered.id.empty()) numbered.id = RandomHex(8);
  const Deadline deadline = Deadline::After(spec.timeout);
  Created created;
  CUBBY_ASSIGN_OR_RETURN(const MachineInfo machine,
                         backend_->Create(numbered, deadline, &created.stages));
  const absl::Duration since = MonotonicNow();
  std::shared_ptr<AgentSandbox> sandbox = MakeSandbox(backend_, numbered.id);
  absl::StatusOr<SandboxSettings> settings = SettingsFor(spec, machine.defaults);
  const absl::Status status =
      settings.ok() ? sandbox->Configure(*settings, deadline) : settings.status();
  if (!status.ok()) {
    const std::string console = backend_->ConsoleLog(numbered.id).value_or("");
    if (absl::Status undone = backend_->Kill(numbered.id); !undone.ok()) {
      Log(Severity::kWarning,
          absl::StrCat("sandbox ", numbered.id, " could not be removed: ", undone.message()));
    }
    return Annotate(status, console.empty()
                                ? "the sandbox's agent"
                                : absl::StrCat("the sandbox's agent (it printed: ", console, ")"));
  }
  created.stages.push_back({.name = "agent", .duration = MonotonicNow() - since});
  created.sandbox = std::move(sandbox);
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
  return MakeSandbox(backend_, id);
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
