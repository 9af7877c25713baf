#include <memory>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/output.h"
#include "cubby/cli/units.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

struct Options {
  std::string id;
  bool quiet = false;
};

std::string StateOf(const ExecutionInfo& execution) {
  if (execution.running) return "running";
  if (execution.timed_out) return "timed out";
  if (execution.signal != 0) return absl::StrCat("signal ", execution.signal);
  return absl::StrCat("exit ", execution.exit_code);
}

absl::Status PrintExecutions(const Context& context, const Options& options,
                             const std::vector<ExecutionInfo>& executions) {
  if (context.global.json) {
    Json list = Json::array();
    for (const ExecutionInfo& execution : executions) {
      Json object = {{"execution_id", execution.id}};
      PutBytes(&object, "command", execution.command);
      object["running"] = execution.running;
      object["exit_code"] = execution.exit_code;
      object["signal"] = execution.signal;
      object["timed_out"] = execution.timed_out;
      object["stdout_total_bytes"] = execution.total.out;
      object["stderr_total_bytes"] = execution.total.err;
      object["age_seconds"] = absl::ToDoubleSeconds(execution.age);
      list.push_back(object);
    }
    return PrintJson(context, list);
  }
  if (options.quiet) {
    std::string ids;
    for (const ExecutionInfo& execution : executions) absl::StrAppend(&ids, execution.id, "\n");
    return context.Print(ids);
  }
  Table table({"EXECUTION", "STATE", "AGE", "STDOUT", "STDERR", "COMMAND"});
  for (const ExecutionInfo& execution : executions) {
    table.Add({execution.id, StateOf(execution), FormatSpan(execution.age),
               FormatSize(execution.total.out), FormatSize(execution.total.err),
               Escape(execution.command)});
  }
  return context.Print(table.ToString());
}

}  // namespace

Verb ExecutionsVerb() {
  auto options = std::make_shared<Options>();
  return {.name = "executions",
          .summary = "List the commands that run or have run in a sandbox",
          .options = {Flag("-q,--quiet", &options->quiet, "print the ids alone")},
          .positionals = {Word("ID", &options->id, Completes::kSandbox,
                               "the sandbox, or the beginning of its id")},
          .run = [options](Context& context) -> absl::StatusOr<int> {
            CUBBY_ASSIGN_OR_RETURN(const auto sandbox, context.FindSandbox(options->id));
            CUBBY_ASSIGN_OR_RETURN(const auto executions, sandbox->ListExecutions());
            CUBBY_RETURN_IF_ERROR(PrintExecutions(context, *options, executions));
            return 0;
          }};
}

}  // namespace cubby::cli
