#include <memory>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/units.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

struct Options {
  std::string id;
  std::string execution;
  std::string signal = "TERM";
  bool everything = false;
};

absl::StatusOr<int> SendSignal(Context& context, const Options& options) {
  CUBBY_ASSIGN_OR_RETURN(const int signal, ParseSignal(options.signal));
  CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, context.FindSandbox(options.id));
  CUBBY_ASSIGN_OR_RETURN(const std::vector<ExecutionInfo> executions, sandbox->ListExecutions());
  for (const ExecutionInfo& info : executions) {
    if (info.id != options.execution) continue;
    if (!info.running) {
      return absl::FailedPreconditionError(
          absl::StrCat("the execution ", info.id, " has already ended"));
    }
    // From its present end: nothing of its output is wanted.
    CUBBY_ASSIGN_OR_RETURN(const std::unique_ptr<Execution> execution,
                           sandbox->Attach(info.id, info.total));
    CUBBY_RETURN_IF_ERROR(options.everything ? execution->Kill() : execution->Signal(signal));
    return 0;
  }
  return absl::NotFoundError(absl::StrCat("there is no execution '", options.execution,
                                          "'; 'cubby executions ", options.id,
                                          "' shows those there are"));
}

}  // namespace

Verb SignalVerb() {
  auto options = std::make_shared<Options>();
  return {
      .name = "signal",
      .summary = "Send a signal to a running command",
      .description = "The signal goes to the command's process group.",
      .options = {Flag("--kill-all", &options->everything,
                       "kill everything that the command started, whatever the signal")},
      .positionals =
          {Word("ID", &options->id, Completes::kSandbox, "the sandbox, or the beginning of its id"),
           Word("EXECUTION", &options->execution, Completes::kExecution, "the execution's id"),
           Word("SIGNAL", &options->signal, Completes::kNothing,
                "a name or number, such as INT or 9; TERM if not given", Need::kOptional)},
      .run = [options](Context& context) { return SendSignal(context, *options); }};
}

}  // namespace cubby::cli
