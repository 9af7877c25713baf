#include "cubby/search/glob_search.h"

#include <utility>

#include "cubby/base/status_macros.h"
#include "cubby/search/glob_matcher.h"

namespace cubby::search {
namespace {

class GlobFilter : public EntryFilter {
 public:
  GlobFilter(const GlobPattern& pattern, Folders folders, ResultBatches<GlobResult>* results)
      : matcher_(pattern),
        with_folders_(folders == Folders::kInclude || pattern.folders_only()),
        results_(results) {}

  void EnterFolder(absl::string_view folder) override {
    // What was found must not wait while folder after folder holds nothing.
    wanted_ = wanted_ && results_->FlushIfOld();
    matcher_.EnterFolder(folder);
  }

  Verdict Judge(absl::string_view name, FileType type) override {
    if (!wanted_) return {.report = false, .descend = false};
    if (type == FileType::kDirectory) {
      return {.report = with_folders_ && matcher_.MatchesName(name),
              .descend = matcher_.MayMatchBelow(name)};
    }
    return {.report = !matcher_.pattern().folders_only() && matcher_.MatchesName(name)};
  }

  // False once the sink wants no more.
  [[nodiscard]] bool wanted() const { return wanted_; }

 private:
  GlobMatcher matcher_;
  const bool with_folders_;
  ResultBatches<GlobResult>* const results_;
  bool wanted_ = true;
};

}  // namespace

absl::StatusOr<Summary> GlobSearch(const SearchRoot& root, const GlobPattern& pattern,
                                   const GlobOptions& options, Sink<GlobResult> sink) {
  CUBBY_RETURN_IF_ERROR(root.RequireFolder());
  Summary summary;
  ResultBatches<GlobResult> results(options.max_results, sink, &summary);
  GlobFilter filter(pattern, options.folders, &results);
  Walker walker(root, options.walk, &filter, &summary);
  Walker::Entry entry;
  while (filter.wanted() && walker.Next(&entry)) {
    if (!results.Add({root.Shown(entry.path), entry.type})) break;
  }
  results.Flush();
  summary.Finish();
  return summary;
}

}  // namespace cubby::search
