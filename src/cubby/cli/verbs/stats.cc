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

Json ToJson(const std::string& id, const SandboxStats& stats) {
  return {{"id", id},
          {"memory_bytes", stats.memory_bytes},
          {"memory_limit_bytes", stats.memory_limit_bytes},
          {"memory_peak_bytes", stats.memory_peak_bytes},
          {"cpu_seconds", absl::ToDoubleSeconds(stats.cpu_time)},
          {"processes", stats.processes},
          {"agent_memory_bytes", stats.agent_memory_bytes},
          {"out_of_memory_kills", stats.out_of_memory_kills},
          {"uptime_seconds", absl::ToDoubleSeconds(stats.uptime)}};
}

// Named sandboxes must answer; of all sandboxes, those that have died are left out.
absl::StatusOr<std::vector<std::string>> Ids(Context& context,
                                             const std::vector<std::string>& prefixes) {
  std::vector<std::string> ids;
  for (const std::string& prefix : prefixes) {
    CUBBY_ASSIGN_OR_RETURN(std::string id, context.ResolveId(prefix));
    ids.push_back(std::move(id));
  }
  if (!prefixes.empty()) return ids;
  CUBBY_ASSIGN_OR_RETURN(SandboxProvider * provider, context.Provider());
  CUBBY_ASSIGN_OR_RETURN(const std::vector<SandboxInfo> sandboxes, provider->List());
  for (const SandboxInfo& sandbox : sandboxes) {
    if (sandbox.state == SandboxState::kRunning) ids.push_back(sandbox.id);
  }
  return ids;
}

absl::StatusOr<int> PrintStats(Context& context, const std::vector<std::string>& prefixes) {
  CUBBY_ASSIGN_OR_RETURN(const std::vector<std::string> ids, Ids(context, prefixes));
  Json list = Json::array();
  Table table(
      {"ID", "CPU TIME", "MEMORY", "LIMIT", "PEAK", "PROCESSES", "AGENT", "OOM KILLS", "UPTIME"});
  CUBBY_ASSIGN_OR_RETURN(SandboxProvider * provider, context.Provider());
  for (const std::string& id : ids) {
    CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, provider->Get(id));
    CUBBY_ASSIGN_OR_RETURN(const SandboxStats stats, sandbox->Stats());
    list.push_back(ToJson(id, stats));
    table.Add({id, FormatSpan(stats.cpu_time), FormatSize(stats.memory_bytes),
               stats.memory_limit_bytes == 0 ? "none" : FormatSize(stats.memory_limit_bytes),
               FormatSize(stats.memory_peak_bytes), absl::StrCat(stats.processes),
               FormatSize(stats.agent_memory_bytes), absl::StrCat(stats.out_of_memory_kills),
               FormatSpan(stats.uptime)});
  }
  CUBBY_RETURN_IF_ERROR(context.global.json ? PrintJson(context, list)
                                            : context.Print(table.ToString()));
  return 0;
}

}  // namespace

Verb StatsVerb() {
  auto ids = std::make_shared<std::vector<std::string>>();
  return {.name = "stats",
          .summary = "Show what sandboxes use",
          .positionals = {Words("ID", ids.get(), Completes::kSandbox,
                                "sandboxes, or beginnings of their ids; all that run if none is "
                                "given",
                                Need::kOptional)},
          .run = [ids](Context& context) { return PrintStats(context, *ids); }};
}

}  // namespace cubby::cli
