#include "cubby/tools/exec_text.h"

#include "absl/strings/str_cat.h"
#include "cubby/base/utf8.h"

namespace cubby::tools {
namespace {

std::string StreamText(const OutputStream& stream) {
  std::string text = MendUtf8(stream.bytes);
  if (stream.truncated) {
    absl::StrAppend(&text, "\n[output truncated: kept ", stream.bytes.size(), " of ",
                    stream.total_bytes, " bytes]");
  }
  return text;
}

void AppendLine(std::string* text, absl::string_view line) {
  if (!text->empty()) *text += "\n";
  absl::StrAppend(text, line);
}

}  // namespace

std::string Seconds(absl::Duration duration) {
  const double seconds = absl::ToDoubleSeconds(duration);
  return absl::StrCat(seconds, seconds == 1 ? " second" : " seconds");
}

std::string ExecText(const ExecResult& result, absl::Duration timeout) {
  std::string text = StreamText(result.out);
  const std::string err = StreamText(result.err);
  if (!err.empty()) {
    text = text.empty() ? err : absl::StrCat(text, "\nStd Error:\n", err);
  }
  if (result.timed_out) {
    AppendLine(&text,
               absl::StrCat("Command timed out after ", Seconds(timeout),
                            " and was terminated with everything that it had started. Start what "
                            "runs long in the background with its output in a file, for example: "
                            "nohup ./server > /mnt/user-data/workspace/server.log 2>&1 &"));
  } else if (result.out_of_memory) {
    AppendLine(&text, "Something in the sandbox was killed because its memory was used up.");
  }
  if (!result.timed_out && result.signal != 0) {
    AppendLine(&text, absl::StrCat("Killed by signal ", result.signal));
  } else if (!result.timed_out && result.exit_code != 0) {
    text += absl::StrCat("\nExit Code: ", result.exit_code);
  }
  return text.empty() ? "(no output)" : text;
}

}  // namespace cubby::tools
