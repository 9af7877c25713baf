#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/units.h"
#include "cubby/cli/verbs/image.h"

namespace cubby::cli {
namespace {

// The layers that sandboxes stand on. They must be known for all, so one whose image cannot be
// found stops the work.
absl::StatusOr<std::vector<std::string>> LayersInUse(Context& context, ImageStore& images) {
  CUBBY_ASSIGN_OR_RETURN(SandboxProvider * provider, context.Provider());
  CUBBY_ASSIGN_OR_RETURN(const std::vector<SandboxInfo> sandboxes, provider->List());
  std::set<std::string> layers;
  for (const SandboxInfo& sandbox : sandboxes) {
    const absl::StatusOr<ImageInfo> image = images.Inspect(sandbox.image);
    if (!image.ok()) {
      return Annotate(image.status(),
                      absl::StrCat("the sandbox ", sandbox.id,
                                   " uses an image that cannot be looked up, and its layers must "
                                   "stay; remove the sandbox first"));
    }
    layers.insert(image->layers.begin(), image->layers.end());
  }
  return std::vector<std::string>(layers.begin(), layers.end());
}

absl::StatusOr<int> Prune(Context& context) {
  CUBBY_ASSIGN_OR_RETURN(ImageStore * images, context.Images());
  CUBBY_ASSIGN_OR_RETURN(const std::vector<std::string> in_use, LayersInUse(context, *images));
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
