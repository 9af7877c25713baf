// search/: finds names and lines in a tree of files: walk, glob, list, grep.
//
// Pure code over an open directory. It links into the static guest program, so it may use base/
// and RE2 and nothing that brings locale, iostreams or exceptions of its own; threads run only
// when a caller asks for them. It must never know of sandboxes, wires or how results are worded:
// callers say what to apply and get facts (results in path order, and what was not seen and why).
//
// Open first: walker.h (order, confinement, memory), then glob_search.h and grep_search.h.
#ifndef CUBBY_SEARCH_IGNORE_RULES_H_
#define CUBBY_SEARCH_IGNORE_RULES_H_

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace cubby::search {

// The names of common clutter (version control, dependencies, build output, editor files, logs,
// files being uploaded). Rules are for names below a root only: what a caller names is always
// looked at. Immutable, so threads may share one.
class IgnoreRules {
 public:
  // The 50 names of F-1.
  IgnoreRules();
  // The 50 names and `extra`: names, in which `*` stands for any run of bytes, also an empty one.
  explicit IgnoreRules(absl::Span<const std::string> extra);

  // These and not the 50.
  static IgnoreRules Only(absl::Span<const std::string> names);

  // F-1: `name` (one path segment) equals an entry, or fully matches one with wildcards. Case
  // matters. Runs once per directory entry: a hash look-up, and a look at the few wildcard entries
  // that end in the same byte.
  [[nodiscard]] bool Matches(absl::string_view name) const;

  [[nodiscard]] static absl::Span<const absl::string_view> DefaultNames();

 private:
  struct Nothing {};
  explicit IgnoreRules(Nothing) {}

  // The literal pieces between the stars: "a*b*" is {"a", "b", ""}.
  using Wildcard = std::vector<std::string>;
  struct Hash {
    using is_transparent = void;
    size_t operator()(absl::string_view name) const {
      return std::hash<std::string_view>()(std::string_view(name.data(), name.size()));
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(absl::string_view a, absl::string_view b) const { return a == b; }
  };

  void Add(absl::string_view entry);
  [[nodiscard]] static bool MatchesWildcard(const Wildcard& pieces, absl::string_view name);

  std::unordered_set<std::string, Hash, Equal> exact_;
  std::array<std::vector<Wildcard>, 256> by_last_byte_;
  std::vector<Wildcard> open_ended_;  // those that end in a star
};

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_IGNORE_RULES_H_
