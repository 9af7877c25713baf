// Commands over a connection to an agent.
#ifndef CUBBY_SANDBOX_AGENT_EXECUTION_H_
#define CUBBY_SANDBOX_AGENT_EXECUTION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cubby/sandbox.h"
#include "cubby/sandbox/agent_link.h"

namespace cubby {

// Runs a command to its end. When the connection breaks the execution is attached to again, by its
// id, and never run twice.
absl::StatusOr<ExecResult> RunToEnd(AgentLink* link, const Command& command,
                                    const ExecOptions& options);

absl::StatusOr<std::unique_ptr<Execution>> StartExecution(std::shared_ptr<AgentLink> link,
                                                          const Command& command,
                                                          const StartOptions& options);
absl::StatusOr<std::unique_ptr<Execution>> AttachExecution(std::shared_ptr<AgentLink> link,
                                                           const std::string& id,
                                                           const OutputOffsets& from);

}  // namespace cubby

#endif  // CUBBY_SANDBOX_AGENT_EXECUTION_H_
