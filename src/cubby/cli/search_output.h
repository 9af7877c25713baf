// How the verbs that search say what they did and what they did not see.
#ifndef CUBBY_CLI_SEARCH_OUTPUT_H_
#define CUBBY_CLI_SEARCH_OUTPUT_H_

#include "absl/strings/string_view.h"
#include "cubby/cli/context.h"
#include "cubby/cli/json_output.h"
#include "cubby/search.h"

namespace cubby::cli {

// Exit codes of glob and grep: something was found, nothing is there, or nothing was found but not
// everything was seen.
inline constexpr int kSomeFound = 0;
inline constexpr int kNoneFound = 1;
inline constexpr int kIncomplete = 2;
int SearchExitCode(const SearchSummary& summary);

// `results` with "truncated", "reason" (null when complete), "ignored", "skipped" and what else the
// search counted.
Json WithSummary(Json results, const SearchSummary& summary);

// On standard error, when something is missing: what and why. `limit_option` shows more.
void SaySummary(const Context& context, const SearchSummary& summary,
                absl::string_view limit_option);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_SEARCH_OUTPUT_H_
