#include "cubby/search/glob_pattern.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/search/glob_syntax.h"

namespace cubby::search {
namespace {

using Op = GlobStep::Op;

// Emits steps from the last node to the first, so that every step knows where to go on.
class Emitter {
 public:
  uint32_t Emit(Op op, uint32_t arg, uint32_t next) {
    steps_.push_back({op, arg, next});
    return static_cast<uint32_t>(steps_.size() - 1);
  }

  uint32_t Sequence(const std::vector<GlobNode>& nodes, uint32_t next) {
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) next = Node(*node, next);
    return next;
  }

  std::vector<GlobStep> Take() { return std::move(steps_); }

 private:
  // A run of `op` of any length.
  uint32_t Loop(Op op, uint32_t next) {
    const uint32_t split = Emit(Op::kSplit, next, 0);
    steps_[split].next = Emit(op, 0, split);
    return split;
  }

  uint32_t Node(const GlobNode& node, uint32_t next) {
    switch (node.kind) {
      case GlobNode::Kind::kChar:
        return Emit(Op::kChar, node.value, next);
      case GlobNode::Kind::kSet:
        return Emit(Op::kSet, node.value, next);
      case GlobNode::Kind::kOne:
        return Emit(Op::kNotSlash, 0, next);
      case GlobNode::Kind::kRun:
        return Loop(Op::kNotSlash, next);
      case GlobNode::Kind::kBelow:
        return Emit(Op::kAny, 0, Loop(Op::kAny, next));
      case GlobNode::Kind::kFolders: {
        const uint32_t split = Emit(Op::kSplit, next, 0);
        const uint32_t slash = Emit(Op::kChar, '/', split);
        steps_[split].next = Emit(Op::kNotSlash, 0, Loop(Op::kNotSlash, slash));
        return split;
      }
      case GlobNode::Kind::kEither: {
        // No branch: a set of nothing, which no character passes.
        if (node.branches.empty()) return Emit(Op::kChar, UINT32_MAX, next);
        uint32_t entry = Sequence(node.branches.back(), next);
        for (size_t i = node.branches.size() - 1; i-- > 0;) {
          entry = Emit(Op::kSplit, entry, Sequence(node.branches[i], next));
        }
        return entry;
      }
    }
    return next;
  }

  std::vector<GlobStep> steps_;
};

}  // namespace

bool CharSet::Contains(uint32_t c) const {
  if (c == '/') return false;
  const bool inside = std::any_of(ranges.begin(), ranges.end(), [c](const CharRange& range) {
    return range.first <= c && c <= range.last;
  });
  return inside != negated;
}

absl::StatusOr<GlobPattern> GlobPattern::Compile(absl::string_view pattern, GlobRules rules) {
  if (pattern.size() > kMaxGlobBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("glob pattern: ", pattern.size(), " bytes, the limit is ", kMaxGlobBytes));
  }
  if (pattern.find('\0') != absl::string_view::npos) {
    return absl::InvalidArgumentError("glob pattern: must not contain a NUL byte");
  }
  CUBBY_ASSIGN_OR_RETURN(GlobTree tree, rules == GlobRules::kCompat ? ParseCompatGlob(pattern)
                                                                    : ParseRecursiveGlob(pattern));
  Emitter emitter;
  const uint32_t match = emitter.Emit(Op::kMatch, 0, 0);
  GlobPattern result;
  result.start_ = emitter.Sequence(tree.nodes, match);
  result.folders_only_ = tree.folders_only;
  result.steps_ = std::make_shared<const std::vector<GlobStep>>(emitter.Take());
  result.sets_ = std::make_shared<const std::vector<CharSet>>(std::move(tree.sets));
  return result;
}

}  // namespace cubby::search
