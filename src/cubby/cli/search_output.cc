#include "cubby/cli/search_output.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "cubby/cli/output.h"

namespace cubby::cli {
namespace {

const char* ReasonName(Truncation truncation) {
  switch (truncation) {
    case Truncation::kNone:
      return "none";
    case Truncation::kLimit:
      return "limit";
    case Truncation::kDeadline:
      return "deadline";
    case Truncation::kCancelled:
      return "cancelled";
    case Truncation::kUnreadable:
      return "unreadable";
  }
  return "unknown";
}

std::string Explanation(const SearchSummary& summary, absl::string_view limit_option) {
  switch (summary.truncation) {
    case Truncation::kLimit:
      return absl::StrCat("there is more; ", limit_option, " shows more");
    case Truncation::kDeadline:
      return "the time-out passed before all was seen; --timeout gives more time";
    case Truncation::kUnreadable:
      return absl::StrCat(
          summary.unreadable, " files or folders could not be read",
          summary.unreadable_paths.empty()
              ? std::string()
              : absl::StrCat(", the first is ", Escape(summary.unreadable_paths.front())));
    default:
      return "the search was ended";
  }
}

}  // namespace

int SearchExitCode(const SearchSummary& summary) {
  if (summary.results > 0) return kSomeFound;
  return summary.truncated() ? kIncomplete : kNoneFound;
}

Json WithSummary(Json results, const SearchSummary& summary) {
  results["truncated"] = summary.truncated();
  results["reason"] = summary.truncated() ? Json(ReasonName(summary.truncation)) : Json(nullptr);
  results["ignored"] = summary.ignored;
  results["skipped"] = {{"binary", summary.skipped_binary},
                        {"too_large", summary.skipped_too_large},
                        {"special", summary.skipped_special},
                        {"symlinks", summary.skipped_symlinks}};
  results["visited"] = summary.visited;
  results["unreadable"] = summary.unreadable;
  Json paths = Json::array();
  for (const std::string& path : summary.unreadable_paths) {
    Json object;
    PutBytes(&object, "path", path);
    paths.push_back(object);
  }
  results["unreadable_paths"] = paths;
  results["vanished"] = summary.vanished;
  results["pseudo_mounts"] = summary.pseudo_mounts;
  results["loops"] = summary.loops;
  results["utf16_files"] = summary.utf16_files;
  return results;
}

void SaySummary(const Context& context, const SearchSummary& summary,
                absl::string_view limit_option) {
  if (summary.truncated()) {
    context.Say(absl::StrCat(
        summary.results == 0 ? "nothing found so far, and incomplete: " : "incomplete: ",
        Explanation(summary, limit_option)));
  }
  const int64_t skipped =
      summary.skipped_binary + summary.skipped_too_large + summary.skipped_special;
  if (skipped > 0) {
    context.SayVerbosely(absl::StrCat("not searched: ", summary.skipped_binary, " binary, ",
                                      summary.skipped_too_large, " large and ",
                                      summary.skipped_special, " special files"));
  }
  if (summary.ignored > 0) {
    context.SayVerbosely(absl::StrCat(
        summary.ignored, " entries are left out by the ignore rules; --no-ignore shows them"));
  }
}

}  // namespace cubby::cli
