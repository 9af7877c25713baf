// The two pattern languages, parsed into one tree.
#ifndef CUBBY_SEARCH_GLOB_SYNTAX_H_
#define CUBBY_SEARCH_GLOB_SYNTAX_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cubby/search/glob_pattern.h"

namespace cubby::search {

struct GlobNode {
  enum class Kind : uint8_t {
    kChar,     // the character `value`; also the slash
    kSet,      // a character of the set `value`
    kOne,      // ?
    kRun,      // *
    kFolders,  // `**/`: any number of whole segments, each with its slash
    kBelow,    // `**` at the end: one segment or more
    kEither,   // one of `branches`; none at all matches nothing
  };
  Kind kind;
  uint32_t value = 0;
  std::vector<std::vector<GlobNode>> branches;
};

struct GlobTree {
  std::vector<GlobNode> nodes;
  std::vector<CharSet> sets;
  bool folders_only = false;
};

absl::StatusOr<GlobTree> ParseRecursiveGlob(absl::string_view pattern);
absl::StatusOr<GlobTree> ParseCompatGlob(absl::string_view pattern);

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_GLOB_SYNTAX_H_
