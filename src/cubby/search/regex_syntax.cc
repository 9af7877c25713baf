#include "cubby/search/regex_syntax.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace cubby::search {
namespace {

constexpr char kLinear[] = "the engine never backtracks";
constexpr char kPosition[] = "only the line's ends (^, $) and word edges (\\b) are positions here";

struct Construct {
  absl::string_view text;
  absl::string_view name;
  absl::string_view advice;
};

// After an opening parenthesis; the longer before its beginning.
constexpr Construct kGroups[] = {
    {"?=", "look-ahead", kLinear},
    {"?!", "negative look-ahead", kLinear},
    {"?<=", "look-behind", kLinear},
    {"?<!", "negative look-behind", kLinear},
    {"?>", "atomic group", "use (?: )"},
    {"?|", "branch reset group", "use (?: )"},
    {"?#", "comment", "leave it out"},
    {"?(", "conditional", kLinear},
    {"?&", "subroutine call", kLinear},
    {"?R", "recursion", kLinear},
    {"?0", "recursion", kLinear},
    {"?P=", "back reference", kLinear},
    {"?P>", "subroutine call", kLinear},
    {"?<", "group name without P", "write (?P<name> )"},
    {"?'", "quoted group name", "write (?P<name> )"},
    {"*", "backtracking verb", kLinear},
};

// After a backslash, outside classes.
constexpr Construct kEscapes[] = {
    {"k<", "back reference", kLinear},
    {"k{", "back reference", kLinear},
    {"k'", "back reference", kLinear},
    {"g", "back reference", kLinear},
    {"G", "last match position", kPosition},
    {"K", "match reset", kLinear},
    {"Z", "text end", "write $"},
    {"R", "any line break", "lines are matched one by one"},
    {"X", "grapheme", "write ."},
    {"u", "code point", "write \\x{...}"},
    {"h", "horizontal space", "write [ \\t]"},
    {"H", "horizontal space", "write [^ \\t]"},
    {"N", "named character", "write \\x{...} or [^\\n]"},
    {"C", "single byte", "write ."},
    {"<", "word begin", "write \\b"},
    {">", "word end", "write \\b"},
    {"n", "newline", "lines are matched one by one"},
    {"x0a", "newline", "lines are matched one by one"},
    {"x0A", "newline", "lines are matched one by one"},
    {"x{a}", "newline", "lines are matched one by one"},
    {"x{A}", "newline", "lines are matched one by one"},
};

absl::Status Refusal(size_t at, absl::string_view text, absl::string_view name,
                     absl::string_view advice) {
  return absl::InvalidArgumentError(
      absl::StrCat("pattern: ", name, " `", text, "` is not supported (byte ", at, "): ", advice));
}

template <size_t N>
const Construct* Match(const Construct (&table)[N], absl::string_view rest) {
  for (const Construct& construct : table) {
    if (absl::StartsWith(rest, construct.text)) return &construct;
  }
  return nullptr;
}

// Calls `visit(at)` at every character, escape (at its backslash) and group outside classes and
// \Q...\E; it returns an error to stop.
template <typename Visit>
absl::Status Scan(absl::string_view pattern, Visit visit) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (absl::Status status = visit(i); !status.ok()) return status;
    if (absl::StartsWith(pattern.substr(i), "\\Q")) {
      const size_t end = pattern.find("\\E", i);
      if (end == absl::string_view::npos) break;
      i = end + 1;
    } else if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == '[') {
      size_t end = i + 1;
      if (end < pattern.size() && pattern[end] == '^') ++end;
      if (end < pattern.size() && pattern[end] == ']') ++end;
      while (end < pattern.size() && pattern[end] != ']') {
        if (absl::StartsWith(pattern.substr(end), "[:")) {
          const size_t close = pattern.find(":]", end);
          if (close != absl::string_view::npos) end = close;
        }
        end += pattern[end] == '\\' ? 2 : 1;
      }
      i = end;
    }
  }
  return absl::OkStatus();
}

bool IsRepeat(char c) { return c == '*' || c == '+' || c == '?'; }

}  // namespace

absl::Status RefuseUnsupportedSyntax(absl::string_view pattern) {
  bool after_repeat = false;
  return Scan(pattern, [&](size_t at) -> absl::Status {
    const absl::string_view rest = pattern.substr(at + 1);
    const char c = pattern[at];
    const bool was_repeat = std::exchange(after_repeat, false);
    if (c == '\n') return Refusal(at, "\\n", "newline", "lines are matched one by one");
    if (c == '\\' && !rest.empty()) {
      if (rest[0] >= '1' && rest[0] <= '9') {
        return Refusal(at, pattern.substr(at, 2), "back reference", kLinear);
      }
      if (const Construct* found = Match(kEscapes, rest); found != nullptr) {
        return Refusal(at, absl::StrCat("\\", found->text), found->name, found->advice);
      }
    } else if (c == '(') {
      if (const Construct* found = Match(kGroups, rest); found != nullptr) {
        return Refusal(at, absl::StrCat("(", found->text), found->name, found->advice);
      }
    } else if (c == '+' && was_repeat) {
      const char repeat[] = {pattern[at - 1], '+', '\0'};
      return Refusal(at - 1, repeat, "possessive repetition", "leave the second + out");
    } else if ((IsRepeat(c) && !was_repeat) || c == '}') {
      // A second `?` makes a repetition lazy and is no repetition itself.
      after_repeat = at > 0;
    }
    return absl::OkStatus();
  });
}

bool HasTextAnchors(absl::string_view pattern) {
  const absl::Status found = Scan(pattern, [&](size_t at) -> absl::Status {
    const absl::string_view rest = pattern.substr(at);
    return absl::StartsWith(rest, "\\A") || absl::StartsWith(rest, "\\z") ? absl::CancelledError()
                                                                          : absl::OkStatus();
  });
  return !found.ok();
}

}  // namespace cubby::search
