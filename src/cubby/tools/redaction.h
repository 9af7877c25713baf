// Keeps the values of secrets out of what a model reads.
#ifndef CUBBY_TOOLS_REDACTION_H_
#define CUBBY_TOOLS_REDACTION_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace cubby::tools {

// `[redacted]` in place of every value of at least 8 bytes, longest first, as it is and as base64
// or percent-encoding would write it. Shorter values are left: they are found in innocent text.
// [E-6, D-60]
std::string Redact(std::string text, const std::map<std::string, std::string>& secrets);

}  // namespace cubby::tools

#endif  // CUBBY_TOOLS_REDACTION_H_
