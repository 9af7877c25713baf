#include "cubby/backend/doctor.h"

#include <stdlib.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cubby/base/state_dir.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/output.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kMissing:
      return "missing";
  }
  return "missing";
}

// A column as wide as the longest name. Colour is for people: on a terminal, unless they have asked
// for none (no-color.org).
std::string Painted(const Context& context, Verdict verdict) {
  const std::string name = absl::StrFormat("%-7s", VerdictName(verdict));
  const char* const no_color = getenv("NO_COLOR");
  if (!IsTerminal(context.out()) || (no_color != nullptr && *no_color != '\0')) return name;
  const char* const colour = verdict == Verdict::kOk        ? "\033[32m"
                             : verdict == Verdict::kWarning ? "\033[33m"
                                                            : "\033[31m";
  return absl::StrCat(colour, name, "\033[0m");
}

absl::StatusOr<int> Diagnose(Context& context) {
  const std::string state_dir =
      context.global.state_dir.empty() ? StateDir::DefaultRoot() : context.global.state_dir;
  // As the first sandbox would; when it cannot be made, the checks say so.
  context.SayVerbosely(absl::StrCat("state directory ", state_dir, ": ",
                                    StateDir::Open(state_dir).status().ToString()));
  const std::vector<Check> checks = ProbeHost({.state_dir = state_dir,
                                               .agent_path = context.global.agent,
                                               .runtime = context.global.runtime});
  bool usable = true;
  Json list = Json::array();
  std::string text;
  for (const Check& check : checks) {
    usable = usable && check.verdict != Verdict::kMissing;
    list.push_back({{"name", check.name},
                    {"verdict", VerdictName(check.verdict)},
                    {"detail", check.detail},
                    {"remedy", check.remedy}});
    absl::StrAppend(&text, Painted(context, check.verdict), "  ", check.name, ": ",
                    Escape(check.detail), check.remedy.empty() ? "" : "; ", Escape(check.remedy),
                    "\n");
  }
  CUBBY_RETURN_IF_ERROR(context.global.json ? PrintJson(context, list) : context.Print(text));
  return usable ? 0 : 1;
}

}  // namespace

Verb DoctorVerb() {
  return {.name = "doctor",
          .summary = "Try everything that sandboxes need of this machine",
          .description =
              "One line for each: ok, warning or missing, what was found and how to get what is "
              "not there. The exit code is 1 when something is missing.",
          .run = [](Context& context) { return Diagnose(context); }};
}

}  // namespace cubby::cli
