#include <memory>

#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/foreground.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/signal_relay.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

struct Options {
  std::string id;
  std::string execution;
  int64_t out_offset = 0;
  int64_t err_offset = 0;
  bool interactive = false;
  bool terminal = false;
};

absl::StatusOr<int> Attach(Context& context, const Options& options) {
  CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, context.FindSandbox(options.id));
  SignalRelay relay;
  CUBBY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Execution> execution,
      sandbox->Attach(options.execution, {.out = options.out_offset, .err = options.err_offset}));
  const CommandOptions command{.interactive = options.interactive, .terminal = options.terminal};
  CUBBY_ASSIGN_OR_RETURN(
      const ExecResult result,
      WaitInForeground(context, relay, *execution, ForegroundOptionsOf(context, command)));
  if (context.global.json) {
    Json object = {{"id", sandbox->id()}};
    object.update(ExecResultJson(result));
    CUBBY_RETURN_IF_ERROR(PrintJson(context, object));
  }
  return ExitCodeOf(result);
}

}  // namespace

Verb AttachVerb() {
  auto options = std::make_shared<Options>();
  return {.name = "attach",
          .summary = "Follow a command that runs or has run in a sandbox",
          .description =
              "Prints its output from the beginning, or from given offsets, and ends when the "
              "command does, with its exit code. Of an old output only the last 1 MiB is kept. A "
              "signal is forwarded to the command; a second one kills it.",
          .options = {Integer("--stdout-offset", "N", &options->out_offset, 0,
                              "how many bytes of standard output are known already"),
                      Integer("--stderr-offset", "N", &options->err_offset, 0,
                              "how many bytes of standard error are known already"),
                      Flag("-i,--interactive", &options->interactive,
                           "pass standard input to the command"),
                      Flag("-t,--tty", &options->terminal, "the command has a terminal")},
          .positionals = {Word("ID", &options->id, Completes::kSandbox,
                               "the sandbox, or the beginning of its id"),
                          Word("EXECUTION", &options->execution, Completes::kExecution,
                               "the execution's id")},
          .run = [options](Context& context) { return Attach(context, *options); }};
}

}  // namespace cubby::cli
