// Which environment variables may be set for a command.
#ifndef CUBBY_BASE_ENV_POLICY_H_
#define CUBBY_BASE_ENV_POLICY_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace cubby {

using Environment = std::map<std::string, std::string>;

// C-11: a key must fully match [A-Za-z_][A-Za-z0-9_]*, a value must hold no NUL. The error names
// the key and never the value.
absl::Status CheckEnvironment(const Environment& environment);

// `over` laid over `base`; then "KEY=value" strings in key order.
Environment MergeEnvironment(const Environment& base, const Environment& over);
std::vector<std::string> EnvironmentStrings(const Environment& environment);

// Splits "KEY=value"; INVALID_ARGUMENT without '=' or with a bad key.
absl::Status ParseEnvironmentEntry(absl::string_view entry, Environment* environment);

}  // namespace cubby

#endif  // CUBBY_BASE_ENV_POLICY_H_
