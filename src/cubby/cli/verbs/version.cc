#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {

Verb VersionVerb() {
  return {.name = "version",
          .summary = "Print the version",
          .run = [](Context& context) -> absl::StatusOr<int> {
            CUBBY_RETURN_IF_ERROR(context.global.json
                                      ? PrintJson(context, {{"version", CUBBY_VERSION}})
                                      : context.Print(absl::StrCat("cubby ", CUBBY_VERSION, "\n")));
            return 0;
          }};
}

}  // namespace cubby::cli
