#include "cubby/pool/agent_access.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/env_policy.h"
#include "cubby/base/log.h"
#include "cubby/base/status_macros.h"
#include "cubby/sandbox/agent_sandbox.h"

namespace cubby {
namespace {

std::shared_ptr<AgentSandbox> Connect(std::shared_ptr<Backend> backend,
                                      const std::string& sandbox_id,
                                      const std::string& machine_id) {
  return std::make_shared<AgentSandbox>(sandbox_id, [backend = std::move(backend), machine_id] {
    return backend->Connect(machine_id);
  });
}

// The image's environment, and the caller's over it.
SandboxSettings SettingsFor(const SandboxSpec& spec, const GuestDefaults& defaults) {
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

absl::StatusOr<std::shared_ptr<Sandbox>> AgentAccess::Configure(const std::string& sandbox_id,
                                                                const SandboxSpec& spec,
                                                                const MachineInfo& machine,
                                                                Deadline deadline) {
  std::shared_ptr<AgentSandbox> sandbox = Connect(backend_, sandbox_id, machine.id);
  CUBBY_RETURN_IF_ERROR(sandbox->Configure(SettingsFor(spec, machine.defaults), deadline));
  return sandbox;
}

absl::StatusOr<std::shared_ptr<Sandbox>> AgentAccess::Verify(const std::string& sandbox_id,
                                                             const std::string& machine_id,
                                                             const std::string& nonce,
                                                             absl::Duration timeout) {
  CUBBY_ASSIGN_OR_RETURN(const MachineInfo machine, backend_->Inspect(machine_id));
  const auto carried = machine.labels.find(kNonceLabel);
  if (carried == machine.labels.end() || carried->second != nonce) {
    return absl::DataLossError(
        absl::StrCat("machine ", machine_id, " is not the one that is on record under its name"));
  }
  std::shared_ptr<AgentSandbox> sandbox = Connect(backend_, sandbox_id, machine_id);
  CUBBY_RETURN_IF_ERROR(sandbox->Ping(timeout));
  return sandbox;
}

std::shared_ptr<Sandbox> AgentAccess::Open(const std::string& sandbox_id,
                                           const std::string& machine_id) {
  return Connect(backend_, sandbox_id, machine_id);
}

}  // namespace cubby
