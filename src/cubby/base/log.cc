#include "cubby/base/log.h"

#include <stdio.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cubby {
namespace {

LogSink& Sink() {
  static LogSink& sink = *new LogSink([](Severity severity, absl::string_view message) {
    if (severity < Severity::kWarning) return;
    // One write, so that lines of several processes on one terminal do not mix.
    const std::string line = absl::StrCat(
        severity == Severity::kError ? "cubby: error: " : "cubby: warning: ", message, "\n");
    fwrite(line.data(), 1, line.size(), stderr);
  });
  return sink;
}

}  // namespace

void SetLogSink(LogSink sink) { Sink() = std::move(sink); }

void Log(Severity severity, absl::string_view message) { Sink()(severity, message); }

}  // namespace cubby
