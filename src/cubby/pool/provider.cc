#include "cubby/provider.h"

#include <memory>
#include <string>
#include <utility>

#include "cubby/backend/container/container_backend.h"
#include "cubby/base/agent_program.h"
#include "cubby/base/state_dir.h"
#include "cubby/base/status_macros.h"
#include "cubby/image/store.h"
#include "cubby/pool/local_provider.h"

namespace cubby {

absl::StatusOr<std::unique_ptr<SandboxProvider>> SandboxProvider::Open(
    const ProviderOptions& options) {
  CUBBY_ASSIGN_OR_RETURN(
      const StateDir state,
      StateDir::Open(options.state_dir.empty() ? StateDir::DefaultRoot() : options.state_dir));
  CUBBY_ASSIGN_OR_RETURN(std::string agent, FindAgentProgram(options.agent_path));
  CUBBY_ASSIGN_OR_RETURN(std::shared_ptr<ImageStore> images, ImageStore::Open(state));
  CUBBY_ASSIGN_OR_RETURN(
      std::unique_ptr<Backend> backend,
      ContainerBackend::Open(state, {.agent_path = std::move(agent),
                                     .runtime = options.runtime,
                                     .rootfs = [images](const std::string& reference) {
                                       return images->Rootfs(reference);
                                     }}));
  return std::make_unique<LocalProvider>(std::move(backend));
}

}  // namespace cubby
