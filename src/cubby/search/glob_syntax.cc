#include "cubby/search/glob_syntax.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/base/utf8.h"

namespace cubby::search {
namespace {

using Kind = GlobNode::Kind;
using Nodes = std::vector<GlobNode>;

absl::Status SyntaxError(size_t at, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("glob pattern: ", what, " (byte ", at, ")"));
}

// The POSIX classes, in ASCII as gitignore has them.
std::optional<std::vector<CharRange>> NamedClass(absl::string_view name) {
  if (name == "alpha") return {{{'A', 'Z'}, {'a', 'z'}}};
  if (name == "digit") return {{{'0', '9'}}};
  if (name == "alnum") return {{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}};
  if (name == "upper") return {{{'A', 'Z'}}};
  if (name == "lower") return {{{'a', 'z'}}};
  if (name == "space") return {{{'\t', '\r'}, {' ', ' '}}};
  if (name == "blank") return {{{'\t', '\t'}, {' ', ' '}}};
  if (name == "punct") return {{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}};
  if (name == "xdigit") return {{{'0', '9'}, {'A', 'F'}, {'a', 'f'}}};
  if (name == "cntrl") return {{{0, 31}, {127, 127}}};
  if (name == "graph") return {{{'!', '~'}}};
  if (name == "print") return {{{' ', '~'}}};
  return std::nullopt;
}

class RecursiveParser {
 public:
  explicit RecursiveParser(absl::string_view text) : text_(text) {}

  absl::StatusOr<GlobTree> Parse() {
    if (text_.empty()) return absl::InvalidArgumentError("glob pattern: must not be empty");
    if (text_[0] == '!') {
      return SyntaxError(0, "a leading `!` (exclusion) is not supported; write `\\!` for the name");
    }
    while (absl::StartsWith(text_.substr(at_), "./") || absl::StartsWith(text_.substr(at_), "/")) {
      at_ += text_[at_] == '.' ? 2 : 1;
      anchored_ = true;
    }
    if (at_ == text_.size() || text_.substr(at_) == ".") {
      return SyntaxError(0, "names the root itself, which never matches");
    }
    bool segment_start = true;
    CUBBY_ASSIGN_OR_RETURN(Nodes nodes, Sequence(0, &segment_start, true));
    // A trailing slash is not an anchor: `foo/` is any folder of that name.
    if (nodes.size() > 1 && IsSlash(nodes.back())) {
      nodes.pop_back();
      --slashes_;
      tree_.folders_only = true;
    } else if (nodes.back().kind == Kind::kFolders) {  // `a/**/`
      nodes.back().kind = Kind::kBelow;
      --slashes_;
      tree_.folders_only = true;
    }
    if (!anchored_ && slashes_ == 0 && nodes.front().kind != Kind::kBelow) {
      nodes.insert(nodes.begin(), {Kind::kFolders});
    }
    tree_.nodes = std::move(nodes);
    return std::move(tree_);
  }

 private:
  static bool IsSlash(const GlobNode& node) {
    return node.kind == Kind::kChar && node.value == '/';
  }

  [[nodiscard]] bool More() const { return at_ < text_.size(); }
  [[nodiscard]] char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  uint32_t TakeChar() {
    const Utf8Char c = DecodeUtf8(text_.substr(at_));
    at_ += c.length;
    return c.value;
  }

  // Reads up to the end, or inside braces up to the comma or brace that ends the branch.
  // `segment_start` tells whether the text before and after ends a segment; `segment_end` whether
  // what follows the outer brace does.
  absl::StatusOr<Nodes> Sequence(int depth, bool* segment_start, bool segment_end) {
    Nodes nodes;
    while (More()) {
      const char c = Peek();
      if (depth > 0 && (c == ',' || c == '}')) break;
      if (c == '}') return SyntaxError(at_, "`}` without `{`; write `\\}` for the character");
      if (*segment_start && c == '/') {
        ++at_;
        continue;
      }
      if (*segment_start && c == '.') {
        if (AtSegmentEnd(1, depth, segment_end)) {
          ++at_;  // a `.` segment; its slash vanishes as a repeated one
          continue;
        }
        if (Peek(1) == '.' && AtSegmentEnd(2, depth, segment_end)) {
          return SyntaxError(at_, "a `..` segment never matches below the root");
        }
      }
      if (c == '*') {
        Stars(depth, segment_start, segment_end, &nodes);
        continue;
      }
      if (c == '{') {
        CUBBY_RETURN_IF_ERROR(Braces(depth, segment_start, segment_end, &nodes));
        continue;
      }
      const bool slash = c == '/';
      if (slash) ++slashes_;
      CUBBY_RETURN_IF_ERROR(Single(&nodes));
      *segment_start = slash;
    }
    if (depth == 0 && nodes.empty()) return SyntaxError(0, "names the root itself");
    return nodes;
  }

  [[nodiscard]] bool AtSegmentEnd(size_t ahead, int depth, bool segment_end) const {
    if (at_ + ahead >= text_.size() || Peek(ahead) == '/') return true;
    return depth > 0 && (Peek(ahead) == ',' || Peek(ahead) == '}') && segment_end;
  }

  void Stars(int depth, bool* segment_start, bool segment_end, Nodes* nodes) {
    size_t count = 0;
    while (Peek(count) == '*') ++count;
    const bool whole = *segment_start && count == 2 && AtSegmentEnd(2, depth, segment_end);
    at_ += count;
    if (!whole) {
      nodes->push_back({Kind::kRun});
      *segment_start = false;
    } else if (Peek() == '/') {
      ++at_;
      ++slashes_;
      // `**/**/` says no more than `**/`.
      if (nodes->empty() || nodes->back().kind != Kind::kFolders)
        nodes->push_back({Kind::kFolders});
      *segment_start = true;
    } else {
      // `a/**/**` too is one segment or more.
      if (!nodes->empty() && nodes->back().kind == Kind::kFolders) nodes->pop_back();
      nodes->push_back({Kind::kBelow});
      *segment_start = false;
    }
  }

  // Where the brace at at_ closes, passing over escapes, classes and inner braces.
  [[nodiscard]] std::optional<size_t> ClosingBrace() const {
    int depth = 0;
    for (size_t i = at_; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '\\') {
        ++i;
      } else if (c == '[') {
        const std::optional<size_t> end = ClassEnd(i);
        if (!end.has_value()) return std::nullopt;
        i = *end - 1;
      } else if (c == '{') {
        ++depth;
      } else if (c == '}' && --depth == 0) {
        return i;
      }
    }
    return std::nullopt;
  }

  absl::Status Braces(int depth, bool* segment_start, bool segment_end, Nodes* nodes) {
    if (depth == kMaxGlobDepth) {
      return SyntaxError(at_, absl::StrCat("braces nested deeper than ", kMaxGlobDepth));
    }
    const size_t open = at_;
    const std::optional<size_t> close = ClosingBrace();
    if (!close.has_value()) {
      return SyntaxError(open, "`{` is never closed; write `\\{` for the character");
    }
    const char after = *close + 1 < text_.size() ? text_[*close + 1] : '\0';
    const bool outer_end = depth > 0 && (after == ',' || after == '}') && segment_end;
    const bool inner_end = *close + 1 == text_.size() || after == '/' || outer_end;
    GlobNode either{Kind::kEither};
    bool all_end_segments = true;
    do {
      ++at_;  // `{` or `,`
      bool branch_start = *segment_start;
      CUBBY_ASSIGN_OR_RETURN(Nodes branch, Sequence(depth + 1, &branch_start, inner_end));
      all_end_segments = all_end_segments && branch_start;
      either.branches.push_back(std::move(branch));
    } while (Peek() == ',');
    ++at_;  // `}`
    *segment_start = all_end_segments;
    nodes->push_back(std::move(either));
    return absl::OkStatus();
  }

  absl::Status Single(Nodes* nodes) {
    const char c = Peek();
    if (c == '?') {
      ++at_;
      nodes->push_back({Kind::kOne});
      return absl::OkStatus();
    }
    if (c == '[') return Class(nodes);
    if (c == '\\') {
      ++at_;
      if (!More())
        return SyntaxError(at_ - 1, "ends in a backslash; write `\\\\` for the character");
      if (Peek() == '/') ++slashes_;
    }
    nodes->push_back({Kind::kChar, TakeChar()});
    return absl::OkStatus();
  }

  // The place after the `]` that closes the class at `open`.
  [[nodiscard]] std::optional<size_t> ClassEnd(size_t open) const {
    size_t i = open + 1;
    if (i < text_.size() && (text_[i] == '!' || text_[i] == '^')) ++i;
    for (bool first = true; i < text_.size(); first = false, ++i) {
      if (text_[i] == ']' && !first) return i + 1;
      if (text_[i] == '\\') {
        ++i;
      } else if (absl::StartsWith(text_.substr(i), "[:")) {
        const size_t end = text_.find(":]", i + 2);
        if (end != absl::string_view::npos) i = end + 1;
      }
    }
    return std::nullopt;
  }

  absl::Status Class(Nodes* nodes) {
    const size_t open = at_;
    const std::optional<size_t> end = ClassEnd(open);
    if (!end.has_value()) {
      return SyntaxError(open, "`[` is never closed; write `\\[` for the character");
    }
    const size_t close = *end - 1;
    CharSet set;
    ++at_;
    if (Peek() == '!' || Peek() == '^') {
      set.negated = true;
      ++at_;
    }
    while (at_ < close) {
      if (absl::StartsWith(text_.substr(at_), "[:")) {
        const size_t name_end = text_.find(":]", at_ + 2);
        if (name_end != absl::string_view::npos && name_end < close) {
          const absl::string_view name = text_.substr(at_ + 2, name_end - at_ - 2);
          const auto ranges = NamedClass(name);
          if (!ranges.has_value()) {
            return SyntaxError(at_, absl::StrCat("no class is named [:", name, ":]"));
          }
          set.ranges.insert(set.ranges.end(), ranges->begin(), ranges->end());
          at_ = name_end + 2;
          continue;
        }
      }
      const uint32_t first = ClassChar();
      uint32_t last = first;
      if (Peek() == '-' && at_ + 1 < close) {
        ++at_;
        last = ClassChar();
      }
      if (last < first) return SyntaxError(open, "a class has a reversed range");
      set.ranges.push_back({first, last});
    }
    at_ = *end;
    tree_.sets.push_back(std::move(set));
    nodes->push_back({Kind::kSet, static_cast<uint32_t>(tree_.sets.size() - 1)});
    return absl::OkStatus();
  }

  uint32_t ClassChar() {
    if (Peek() == '\\') ++at_;
    return TakeChar();
  }

  absl::string_view text_;
  size_t at_ = 0;
  bool anchored_ = false;
  size_t slashes_ = 0;
  GlobTree tree_;
};

}  // namespace

absl::StatusOr<GlobTree> ParseRecursiveGlob(absl::string_view pattern) {
  return RecursiveParser(pattern).Parse();
}

}  // namespace cubby::search
