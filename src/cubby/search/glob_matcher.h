// Applies a glob pattern to paths, one after the other.
//
// Runs the pattern's automaton through a cache of the state sets it meets (a lazy DFA), so that a
// name costs about a nanosecond per byte. The cache is bounded: when a pattern has too many states
// it is emptied, and single paths are matched on the state sets themselves.
#ifndef CUBBY_SEARCH_GLOB_MATCHER_H_
#define CUBBY_SEARCH_GLOB_MATCHER_H_

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"
#include "cubby/search/glob_pattern.h"

namespace cubby::search {

// Not thread-safe: one per thread.
class GlobMatcher {
 public:
  explicit GlobMatcher(GlobPattern pattern);

  [[nodiscard]] const GlobPattern& pattern() const { return pattern_; }

  // `path` is relative to the root, without empty segments. Says nothing of folders_only().
  bool Matches(absl::string_view path);

  // For many names of one folder: its path is looked at once. "" is the root.
  void EnterFolder(absl::string_view folder);
  bool MatchesName(absl::string_view name);
  // False when nothing below the folder `name` of the entered folder can match.
  bool MayMatchBelow(absl::string_view name);

 private:
  // The steps that wait for a character (or kMatch), sorted.
  using StepSet = std::vector<uint32_t>;
  static constexpr int32_t kDead = 0;      // the empty set: nothing matches from here
  static constexpr int32_t kUnknown = -1;  // a transition not yet computed
  static constexpr int32_t kFull = -2;     // the cache has no room

  void BuildClasses();
  [[nodiscard]] uint32_t ClassOf(uint32_t c) const;
  void ForgetMarks();
  void AddClosure(uint32_t step, StepSet* set);
  StepSet StartSet();
  StepSet StepOver(const StepSet& from, uint32_t c);
  [[nodiscard]] bool HoldsMatch(const StepSet& set) const;

  int32_t Intern(StepSet set);
  int32_t Advance(int32_t state, absl::string_view text);
  void ClearCache();
  // Without the cache.
  StepSet Run(absl::string_view text);
  int32_t FolderState();
  [[nodiscard]] std::string InFolder(absl::string_view name, absl::string_view after) const;

  GlobPattern pattern_;
  // Characters that no step tells apart are one class; boundaries_ holds where classes begin.
  std::vector<uint32_t> boundaries_;
  std::array<uint32_t, 128> ascii_class_;
  size_t class_count_ = 0;
  size_t max_states_ = 0;

  std::vector<uint32_t> mark_;  // the closure in which a step was last seen
  uint32_t mark_now_ = 0;
  std::vector<uint32_t> stack_;

  std::vector<StepSet> states_;
  std::vector<uint8_t> accepting_;
  std::vector<int32_t> transitions_;  // states x classes
  std::unordered_map<std::string, int32_t> state_ids_;
  size_t cached_steps_ = 0;
  uint64_t generation_ = 0;  // counts emptyings

  std::string folder_;  // with a slash at its end, or empty
  int32_t folder_state_ = kFull;
  uint64_t folder_generation_ = 0;
};

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_GLOB_MATCHER_H_
