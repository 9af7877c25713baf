// MachineAccess by the agent's own protocol over the backend's byte streams.
#ifndef CUBBY_POOL_AGENT_ACCESS_H_
#define CUBBY_POOL_AGENT_ACCESS_H_

#include <memory>
#include <string>

#include "cubby/pool/machine_access.h"

namespace cubby {

class AgentAccess : public MachineAccess {
 public:
  explicit AgentAccess(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

  absl::StatusOr<std::shared_ptr<Sandbox>> Configure(const std::string& sandbox_id,
                                                     const SandboxSpec& spec,
                                                     const MachineInfo& machine,
                                                     Deadline deadline) override;
  absl::StatusOr<std::shared_ptr<Sandbox>> Verify(const std::string& sandbox_id,
                                                  const std::string& machine_id,
                                                  const std::string& nonce,
                                                  absl::Duration timeout) override;
  std::shared_ptr<Sandbox> Open(const std::string& sandbox_id,
                                const std::string& machine_id) override;

 private:
  const std::shared_ptr<Backend> backend_;
};

}  // namespace cubby

#endif  // CUBBY_POOL_AGENT_ACCESS_H_
