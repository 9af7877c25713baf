// Where the guest program is on this host.
#ifndef CUBBY_BASE_AGENT_PROGRAM_H_
#define CUBBY_BASE_AGENT_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"

namespace cubby {

// The first of: `wanted` when it is not empty, $CUBBY_AGENT, beside this program, the installed
// one. NOT_FOUND names the places.
absl::StatusOr<std::string> FindAgentProgram(const std::string& wanted);

}  // namespace cubby

#endif  // CUBBY_BASE_AGENT_PROGRAM_H_
