#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/units.h"
#include "cubby/cli/verbs/image.h"

namespace cubby::cli {
namespace {

absl::StatusOr<int> Prune(Context& context) {
  CUBBY_ASSIGN_OR_RETURN(ImageStore * images, context.Images());
  CUBBY_ASSIGN_OR_RETURN(SandboxProvider * provider, context.Provider());
  CUBBY_ASSIGN_OR_RETURN(const std::vector<SandboxInfo> sandboxes, provider->List());
  std::vector<std::string> in_use;
  for (const SandboxInfo& sandbox : sandboxes) {
    in_use.insert(in_use.end(), sandbox.layers.begin(), sandbox.layers.end());
  }
  CUBBY_ASSIGN_OR_RETURN(const int64_t freed, images->Prune(in_use));
  CUBBY_RETURN_IF_ERROR(context.global.json
                            ? PrintJson(context, {{"freed_bytes", freed}})
                            : context.Print(absl::StrCat("freed ", FormatSize(freed), "\n")));
  return 0;
}

}  // namespace

Verb ImagePruneVerb() {
  return {.name = "prune",
          .summary = "Delete what no image and no sandbox needs",
          .run = [](Context& context) { return Prune(context); }};
}

}  // namespace cubby::cli
