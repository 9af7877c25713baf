#include "cubby/search/grep_search.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/path.h"
#include "cubby/search/file_search.h"
#include "cubby/search/glob_matcher.h"
#include "cubby/search/grep_pool.h"

namespace cubby::search {
namespace {

using Results = ResultBatches<GrepMatch>;

// Reports the files that the glob selects, and enters only folders that may hold some.
class CandidateFilter : public EntryFilter {
 public:
  CandidateFilter(const std::optional<GlobPattern>& glob, Results* results) : results_(results) {
    if (glob.has_value()) matcher_.emplace(*glob);
  }

  void EnterFolder(absl::string_view folder) override {
    // What was found must not wait while folder after folder holds nothing.
    wanted_ = wanted_ && results_->FlushIfOld();
    if (matcher_.has_value()) matcher_->EnterFolder(folder);
  }

  Verdict Judge(absl::string_view name, FileType type) override {
    if (!wanted_) return {.report = false, .descend = false};
    if (type == FileType::kDirectory) {
      return {.report = false, .descend = !matcher_.has_value() || matcher_->MayMatchBelow(name)};
    }
    return {.report = !matcher_.has_value() || matcher_->MatchesName(name)};
  }

  // False once the sink wants no more.
  [[nodiscard]] bool wanted() const { return wanted_; }

 private:
  std::optional<GlobMatcher> matcher_;
  Results* const results_;
  bool wanted_ = true;
};

absl::Status CheckOptions(const GrepOptions& options) {
  if (std::max(options.context_before, options.context_after) > kMaxContextLines) {
    return absl::InvalidArgumentError(
        absl::StrCat("search: at most ", kMaxContextLines, " context lines"));
  }
  if (options.glob.has_value() && options.glob->folders_only()) {
    return absl::InvalidArgumentError(
        "search: the glob ends in a slash and selects folders; add ** for the files in them");
  }
  return absl::OkStatus();
}

// The root is a file or something stranger.
void SearchOne(const SearchRoot& root, const LinePattern& pattern, const GrepOptions& options,
               Results* results, Summary* summary) {
  if (options.glob.has_value() && !GlobMatcher(*options.glob).Matches(Basename(root.shown()))) {
    return;
  }
  ++summary->visited;
  if (root.type() != FileType::kFile) {
    ++summary->skipped.special;
    return;
  }
  if (const Truncation cause = options.walk.interrupt.Check(); cause != Truncation::kNone) {
    summary->Truncate(cause);
    return;
  }
  FileSearch(pattern, options).Search(root.file_fd(), root.shown(), summary, [&](GrepMatch match) {
    return results->Add(std::move(match));
  });
}

// False for what is no file, which is counted.
bool IsCandidate(FileType type, Summary* summary) {
  if (type == FileType::kFile) return true;
  ++(type == FileType::kSymlink ? summary->skipped.symlinks : summary->skipped.special);
  return false;
}

void SearchTree(const SearchRoot& root, const LinePattern& pattern, const GrepOptions& options,
                Results* results, Summary* summary) {
  CandidateFilter filter(options.glob, results);
  Walker walker(root, options.walk, &filter, summary);
  const auto emit = [results](GrepMatch match) { return results->Add(std::move(match)); };
  Walker::Entry entry;
  std::optional<GrepPool> pool;
  if (options.threads > 1) pool.emplace(root, pattern, options, results->Wanted());
  if (pool.has_value() && pool->running()) {
    while (filter.wanted() && walker.Next(&entry)) {
      if (!IsCandidate(entry.type, summary)) continue;
      if (!pool->Add(walker.folder_fd(), entry.path, entry.name.size(), summary, emit)) return;
    }
    // A deadline ends the search for the files that are under way, too.
    pool->Finish(summary, emit);
    return;
  }
  FileSearch search(pattern, options);
  while (filter.wanted() && walker.Next(&entry)) {
    if (!IsCandidate(entry.type, summary)) continue;
    if (const Truncation cause = options.walk.interrupt.Check(); cause != Truncation::kNone) {
      summary->Truncate(cause);
      return;
    }
    const int fd = walker.OpenEntry(kOpenFile);
    const unique_fd owner(fd < 0 ? -1 : fd);
    if (!search.Search(fd, root.Shown(entry.path), summary, emit)) return;
    if (!results->FlushIfOld()) return;
  }
}

}  // namespace

absl::StatusOr<Summary> GrepSearch(const SearchRoot& root, const LinePattern& pattern,
                                   const GrepOptions& options, Sink<GrepMatch> sink) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  Summary summary;
  Results results(options.max_results, sink, &summary);
  if (root.type() == FileType::kDirectory) {
    SearchTree(root, pattern, options, &results, &summary);
  } else {
    SearchOne(root, pattern, options, &results, &summary);
  }
  results.Flush();
  summary.Finish();
  return summary;
}

}  // namespace cubby::search
