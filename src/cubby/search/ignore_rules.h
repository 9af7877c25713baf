// search/: which names a listing or a search passes over.
//
// Pure code over names and folders, without policy: callers say what to apply. May use base/.
#ifndef CUBBY_SEARCH_IGNORE_RULES_H_
#define CUBBY_SEARCH_IGNORE_RULES_H_

#include <string>
#include <unordered_set>
#include <vector>

#include "absl/strings/string_view.h"

namespace cubby::search {

// The names of common clutter (version control, dependencies, build output, editor files, logs,
// files being uploaded). Rules are for names below a root only: what a caller names is always
// looked at.
class IgnoreRules {
 public:
  IgnoreRules();

  // F-1: `name` (one path segment) equals an entry, or fully matches one with wildcards. Case
  // matters. Runs once per directory entry: a hash look-up and a few comparisons.
  [[nodiscard]] bool Matches(absl::string_view name) const;

 private:
  // "*" stands once in each entry with wildcards, so it is a beginning and an end.
  struct Wildcard {
    std::string prefix;
    std::string suffix;
  };
  std::unordered_set<std::string> exact_;
  std::vector<Wildcard> wildcards_;
};

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_IGNORE_RULES_H_
