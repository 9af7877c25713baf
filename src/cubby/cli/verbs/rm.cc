#include <memory>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

struct Options {
  std::vector<std::string> ids;
  bool all = false;
};

// One that cannot be removed does not keep the others.
absl::StatusOr<int> RemoveAll(Context& context, const Options& options) {
  CUBBY_ASSIGN_OR_RETURN(SandboxProvider * provider, context.Provider());
  std::vector<std::string> ids = options.ids;
  if (options.all) {
    if (!ids.empty()) return absl::InvalidArgumentError("give either ids or --all");
    CUBBY_ASSIGN_OR_RETURN(const std::vector<SandboxInfo> sandboxes, provider->List());
    for (const SandboxInfo& sandbox : sandboxes) ids.push_back(sandbox.id);
  } else if (ids.empty()) {
    return absl::InvalidArgumentError("say which sandboxes to remove, or --all");
  }
  Json removed = Json::array();
  Json errors = Json::array();
  for (const std::string& prefix : ids) {
    const absl::StatusOr<std::string> id = context.ResolveId(prefix);
    const absl::Status status = id.ok() ? provider->Remove(*id) : id.status();
    if (status.ok()) {
      removed.push_back(*id);
      if (!context.global.json) CUBBY_RETURN_IF_ERROR(context.Print(absl::StrCat(*id, "\n")));
      continue;
    }
    const absl::Status annotated = Annotate(status, absl::StrCat("remove ", prefix));
    Json entry = {{"id", prefix}};
    entry.update(ErrorJson(annotated));
    errors.push_back(entry);
    if (!context.global.json) context.Say(annotated.message());
  }
  const bool good = errors.empty();
  if (context.global.json) {
    CUBBY_RETURN_IF_ERROR(PrintJson(context, {{"removed", removed}, {"errors", errors}}));
  }
  return good ? 0 : kOwnFailure;
}

}  // namespace

Verb RmVerb() {
  auto options = std::make_shared<Options>();
  return {.name = "rm",
          .summary = "Stop and remove sandboxes",
          .description = "Everything that runs in them is killed. Prints the ids of those removed.",
          .options = {Flag("-a,--all", &options->all, "remove every sandbox")},
          .positionals = {Words("ID", &options->ids, Completes::kSandbox,
                                "a sandbox, or the beginning of its id", Need::kOptional)},
          .run = [options](Context& context) { return RemoveAll(context, *options); }};
}

}  // namespace cubby::cli
