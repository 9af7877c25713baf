#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/output.h"
#include "cubby/cli/units.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

const char* StateName(SandboxState state) {
  switch (state) {
    case SandboxState::kCreating:
      return "creating";
    case SandboxState::kRunning:
      return "running";
    case SandboxState::kDead:
      return "dead";
  }
  return "dead";
}

Json ToJson(const SandboxInfo& sandbox) {
  return {{"id", sandbox.id},
          {"image", sandbox.image},
          {"backend", sandbox.backend},
          {"state", StateName(sandbox.state)},
          {"created", IsoTime(sandbox.created)},
          {"limits", LimitsJson(sandbox.limits)},
          {"labels", sandbox.labels}};
}

absl::StatusOr<int> List(Context& context, bool quiet) {
  CUBBY_ASSIGN_OR_RETURN(SandboxProvider * provider, context.Provider());
  CUBBY_ASSIGN_OR_RETURN(const std::vector<SandboxInfo> sandboxes, provider->List());
  if (context.global.json) {
    Json list = Json::array();
    for (const SandboxInfo& sandbox : sandboxes) list.push_back(ToJson(sandbox));
    CUBBY_RETURN_IF_ERROR(PrintJson(context, list));
    return 0;
  }
  if (quiet) {
    std::string ids;
    for (const SandboxInfo& sandbox : sandboxes) absl::StrAppend(&ids, sandbox.id, "\n");
    CUBBY_RETURN_IF_ERROR(context.Print(ids));
    return 0;
  }
  Table table({"ID", "STATE", "AGE", "MEMORY", "CPUS", "IMAGE", "LABELS"});
  const absl::Time now = absl::Now();
  for (const SandboxInfo& sandbox : sandboxes) {
    table.Add({sandbox.id, StateName(sandbox.state), FormatSpan(now - sandbox.created),
               FormatSize(sandbox.limits.memory_bytes), absl::StrCat(sandbox.limits.cpus),
               Escape(sandbox.image),
               Escape(absl::StrJoin(sandbox.labels, ",", absl::PairFormatter("=")))});
  }
  CUBBY_RETURN_IF_ERROR(context.Print(table.ToString()));
  return 0;
}

}  // namespace

Verb PsVerb() {
  auto quiet = std::make_shared<bool>(false);
  return {.name = "ps",
          .summary = "List the sandboxes",
          .options = {Flag("-q,--quiet", quiet.get(), "print the ids alone")},
          .run = [quiet](Context& context) { return List(context, *quiet); }};
}

}  // namespace cubby::cli
