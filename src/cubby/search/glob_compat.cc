// The reference's pattern rule, F-10 to F-14.
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "cubby/base/utf8.h"
#include "cubby/search/glob_syntax.h"

namespace cubby::search {
namespace {

using Kind = GlobNode::Kind;
using Nodes = std::vector<GlobNode>;

uint32_t TakeChar(absl::string_view* text) {
  const Utf8Char c = DecodeUtf8(*text);
  text->remove_prefix(c.length);
  return c.value;
}

// F-12. `text` stands after the `[`. False, with nothing taken, when the class is never closed.
bool TakeClass(absl::string_view* text, CharSet* set) {
  absl::string_view content = *text;
  set->negated = absl::ConsumePrefix(&content, "!");
  // A `]` in the first place is a member.
  const size_t close = content.find(']', 1);
  if (content.empty() || close == absl::string_view::npos) return false;
  *text = content.substr(close + 1);
  content = content.substr(0, close);
  while (!content.empty()) {
    const uint32_t first = TakeChar(&content);
    if (content.size() < 2 || content[0] != '-') {
      set->ranges.push_back({first, first});
      continue;
    }
    content.remove_prefix(1);
    const uint32_t last = TakeChar(&content);
    if (first <= last) set->ranges.push_back({first, last});
  }
  return true;
}

void AppendSegment(absl::string_view segment, GlobTree* tree, Nodes* nodes) {
  while (!segment.empty()) {
    const uint32_t c = TakeChar(&segment);
    CharSet set;
    if (c == '*') {
      if (nodes->empty() || nodes->back().kind != Kind::kRun) nodes->push_back({Kind::kRun});
    } else if (c == '?') {
      nodes->push_back({Kind::kOne});
    } else if (c == '[' && TakeClass(&segment, &set)) {
      tree->sets.push_back(std::move(set));
      nodes->push_back({Kind::kSet, static_cast<uint32_t>(tree->sets.size() - 1)});
    } else {
      nodes->push_back({Kind::kChar, c});
    }
  }
}

// F-10 and F-11: what comes before the last segments does not matter. An absolute pattern never
// matches a relative path.
Nodes RightAnchored(absl::string_view pattern, GlobTree* tree) {
  if (absl::StartsWith(pattern, "/")) return {{Kind::kEither}};
  Nodes nodes;
  for (absl::string_view segment : absl::StrSplit(pattern, '/')) {
    if (segment.empty() || segment == ".") continue;
    nodes.push_back(nodes.empty() ? GlobNode{Kind::kFolders} : GlobNode{Kind::kChar, '/'});
    AppendSegment(segment, tree, &nodes);
  }
  return nodes;
}

}  // namespace

absl::StatusOr<GlobTree> ParseCompatGlob(absl::string_view pattern) {
  GlobTree tree;
  Nodes nodes = RightAnchored(pattern, &tree);
  // F-14; the reference fails only when there is something to test, which tells nobody.
  if (nodes.empty()) return absl::InvalidArgumentError("glob pattern: must not be empty");
  if (!absl::StartsWith(pattern, "**/")) {
    tree.nodes = std::move(nodes);
    return tree;
  }
  // F-13: tried once more without its first three characters.
  GlobNode either{Kind::kEither};
  Nodes shorter = RightAnchored(pattern.substr(3), &tree);
  either.branches.push_back(std::move(nodes));
  if (!shorter.empty()) either.branches.push_back(std::move(shorter));
  tree.nodes.push_back(std::move(either));
  return tree;
}

}  // namespace cubby::search
