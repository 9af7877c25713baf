// What the pool asks of the agent in a machine.
#ifndef CUBBY_POOL_MACHINE_ACCESS_H_
#define CUBBY_POOL_MACHINE_ACCESS_H_

#include <memory>
#include <string>

#include "cubby/backend/backend.h"
#include "cubby/base/deadline.h"
#include "cubby/sandbox.h"

namespace cubby {

class MachineAccess {
 public:
  virtual ~MachineAccess() = default;

  // Makes the agent of a new machine ready for use.
  virtual absl::StatusOr<std::shared_ptr<Sandbox>> Configure(const std::string& sandbox_id,
                                                             const SandboxSpec& spec,
                                                             const MachineInfo& machine,
                                                             Deadline deadline) = 0;

  // A round trip to the agent of the machine that carries `nonce`. An answer of another machine is
  // DATA_LOSS; a dead one is terminal or NOT_FOUND.
  virtual absl::StatusOr<std::shared_ptr<Sandbox>> Verify(const std::string& sandbox_id,
                                                          const std::string& machine_id,
                                                          const std::string& nonce,
                                                          absl::Duration timeout) = 0;

  // Without asking it anything.
  virtual std::shared_ptr<Sandbox> Open(const std::string& sandbox_id,
                                        const std::string& machine_id) = 0;
};

// Where a machine carries its nonce: a label.
inline constexpr char kNonceLabel[] = "cubby.nonce";

}  // namespace cubby

#endif  // CUBBY_POOL_MACHINE_ACCESS_H_
