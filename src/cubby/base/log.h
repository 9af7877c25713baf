// Where the library says what it cannot return: lost work, failed clean-up, odd hosts.
//
// Thread-safe. Never pass a secret or the value of an environment variable.
#ifndef CUBBY_BASE_LOG_H_
#define CUBBY_BASE_LOG_H_

#include <functional>

#include "absl/strings/string_view.h"

namespace cubby {

enum class Severity { kDebug, kInfo, kWarning, kError };

using LogSink = std::function<void(Severity, absl::string_view message)>;

// Replaces the sink (the default writes warnings and errors to standard error). Call it before
// other threads log.
void SetLogSink(LogSink sink);

void Log(Severity severity, absl::string_view message);

}  // namespace cubby

#endif  // CUBBY_BASE_LOG_H_
