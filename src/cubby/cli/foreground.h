// A command of a sandbox in the foreground of this terminal: what it prints is printed, what is
// typed reaches it, signals are its own.
#ifndef CUBBY_CLI_FOREGROUND_H_
#define CUBBY_CLI_FOREGROUND_H_

#include <stdint.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cubby/cli/context.h"
#include "cubby/cli/declaration.h"
#include "cubby/cli/signal_relay.h"
#include "cubby/sandbox.h"

namespace cubby::cli {

// The options that every verb which runs a command has.
struct CommandOptions {
  std::string script;
  std::vector<std::string> environment;
  std::string working_directory;
  std::string user;
  absl::Duration timeout = absl::Seconds(600);
  bool interactive = false;
  bool terminal = false;
  int64_t output_limit = 10 << 20;
};
std::vector<Option> CommandOptionDeclarations(CommandOptions* options);

// What is to be run: the script or the words. INVALID_ARGUMENT when it is both or none.
absl::StatusOr<Command> CommandToRun(const CommandOptions& options,
                                     const std::vector<std::string>& words);
absl::StatusOr<StartOptions> StartOptionsOf(const Context& context, const CommandOptions& options);

struct ForegroundOptions {
  enum class Input { kNone, kStreamed } input = Input::kNone;
  enum class Terminal { kNone, kRaw } terminal = Terminal::kNone;
  // kPrinted: as it comes, to standard output and error. kCollected: into the result.
  enum class Output { kPrinted, kCollected } output = Output::kPrinted;
  int64_t output_limit = 10 << 20;  // of each stream, when collected
};
ForegroundOptions ForegroundOptionsOf(const Context& context, const CommandOptions& options);

// Waits for the end of an execution. The first ending signal is forwarded to the command, the next
// kills everything that it started. A reader of our output that has gone away kills it too, and
// `signal` is then SIGPIPE.
absl::StatusOr<ExecResult> WaitInForeground(const Context& context, SignalRelay& relay,
                                            Execution& execution, const ForegroundOptions& options);

// 124 after a time-out, else the command's code.
int ExitCodeOf(const ExecResult& result);
// 126, 127 or 125, for an error of Sandbox::Start.
int ExitCodeOfStartError(const Command& command, const absl::Status& status);
// Says on standard error what the exit code alone does not: the time-out, the memory limit.
void Explain(const Context& context, const ExecResult& result, absl::Duration timeout);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_FOREGROUND_H_
