#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
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
  CommandOptions command;
  std::string execution_id;
  bool detach = false;
};

absl::StatusOr<int> Exec(Context& context, const Options& options) {
  CUBBY_ASSIGN_OR_RETURN(StartOptions start, StartOptionsOf(context, options.command));
  CUBBY_ASSIGN_OR_RETURN(const Command command, CommandToRun(options.command, context.command));
  if (options.detach && options.command.interactive) {
    return absl::InvalidArgumentError(
        "--detach leaves nobody to pass standard input on; leave out --interactive");
  }
  start.execution_id = options.execution_id;
  CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, context.FindSandbox(options.id));
  SignalRelay relay;
  absl::StatusOr<std::unique_ptr<Execution>> execution = sandbox->Start(command, start);
  if (!execution.ok()) {
    context.Report(execution.status());
    return ExitCodeOfStartError(command, execution.status());
  }
  if (options.detach) {
    const std::string& id = (*execution)->id();
    CUBBY_RETURN_IF_ERROR(context.global.json
                              ? PrintJson(context, {{"id", sandbox->id()}, {"execution_id", id}})
                              : context.Print(absl::StrCat(id, "\n")));
    return 0;
  }
  CUBBY_ASSIGN_OR_RETURN(
      const ExecResult result,
      WaitInForeground(context, relay, **execution, ForegroundOptionsOf(context, options.command)));
  Explain(context, result, start.timeout);
  if (context.global.json) {
    Json object = {{"id", sandbox->id()}};
    object.update(ExecResultJson(result));
    object["stages"] = Json::array();
    CUBBY_RETURN_IF_ERROR(PrintJson(context, object));
  }
  return ExitCodeOf(result);
}

}  // namespace

Verb ExecVerb() {
  auto options = std::make_shared<Options>();
  Verb verb{.name = "exec",
            .summary = "Run a command in a sandbox",
            .description =
                "Output comes as the command writes it, and the exit code is the command's. A "
                "signal is forwarded to the command; a second one kills it.",
            .options = CommandOptionDeclarations(&options->command),
            .positionals = {Word("ID", &options->id, Completes::kSandbox,
                                 "the sandbox, or the beginning of its id")},
            .command_words = CommandWords::kAccepted,
            .run = [options](Context& context) { return Exec(context, *options); }};
  verb.options.push_back(Flag("-d,--detach", &options->detach,
                              "print the execution's id and leave the command running"));
  verb.options.push_back(Text("--execution-id", "NAME", &options->execution_id,
                              "name of the execution; the same name is never run twice"));
  return verb;
}

}  // namespace cubby::cli
