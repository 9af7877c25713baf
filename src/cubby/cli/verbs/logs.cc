#include <memory>

#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {

Verb LogsVerb() {
  auto prefix = std::make_shared<std::string>();
  return {.name = "logs",
          .summary = "Print what the runtime and the agent of a sandbox have said",
          .description =
              "Nothing when all is well. What commands print is not here: see 'cubby attach'.",
          .positionals = {Word("ID", prefix.get(), Completes::kSandbox,
                               "the sandbox, or the beginning of its id")},
          .run = [prefix](Context& context) -> absl::StatusOr<int> {
            CUBBY_ASSIGN_OR_RETURN(const std::string id, context.ResolveId(*prefix));
            CUBBY_ASSIGN_OR_RETURN(SandboxProvider * provider, context.Provider());
            CUBBY_ASSIGN_OR_RETURN(const std::string log, provider->ConsoleLog(id));
            if (context.global.json) {
              Json object = {{"id", id}};
              PutBytes(&object, "log", log);
              CUBBY_RETURN_IF_ERROR(PrintJson(context, object));
            } else {
              CUBBY_RETURN_IF_ERROR(context.Print(log));
            }
            return 0;
          }};
}

}  // namespace cubby::cli
