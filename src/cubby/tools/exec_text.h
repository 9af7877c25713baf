// The result of a command as one text.
#ifndef CUBBY_TOOLS_EXEC_TEXT_H_
#define CUBBY_TOOLS_EXEC_TEXT_H_

#include <string>

#include "absl/time/time.h"
#include "cubby/sandbox.h"

namespace cubby::tools {

// Standard output; error output behind "Std Error:"; what ended the command, when that was not exit
// code 0; "(no output)" where there is nothing else to say. Bytes that are not UTF-8 become U+FFFD.
// `timeout` is the one that the command had. [C-12, C-17, C-19]
std::string ExecText(const ExecResult& result, absl::Duration timeout);

// "30 seconds", "1 second", "1.5 seconds".
std::string Seconds(absl::Duration duration);

}  // namespace cubby::tools

#endif  // CUBBY_TOOLS_EXEC_TEXT_H_
