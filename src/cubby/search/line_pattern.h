// What to look for in a line.
//
// Regular expressions are RE2's: time linear in the text, bounded memory. A match lies within one
// line; only LF ends a line. Whole pieces of text are searched at once, and where a string is known
// that every match holds, the text is searched for that first.
#ifndef CUBBY_SEARCH_LINE_PATTERN_H_
#define CUBBY_SEARCH_LINE_PATTERN_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cubby/search/literal_finder.h"

namespace re2 {
class RE2;
}

namespace cubby::search {

inline constexpr size_t kMaxLinePatternBytes = 64 << 10;

enum class PatternSyntax { kRegex, kLiteral };
enum class PatternCase { kInsensitive, kSensitive };  // Unicode's simple folding

struct LineMatch {
  size_t begin;
  size_t end;
};

// What a search of one piece of text has learnt; empty at its beginning. The text stays where it
// is.
struct LineScan {
  absl::string_view sane;  // the text as the engine takes it; empty until needed
  std::string copy;
  int missed = 0;

  void Reset() {
    sane = {};
    missed = 0;
  }
};

// Immutable, so threads may share one.
class LinePattern {
 public:
  // INVALID_ARGUMENT: too long, not UTF-8 (a case-sensitive literal may be any bytes), holding a
  // newline, or wrong or unsupported syntax, which the message names.
  static absl::StatusOr<LinePattern> Compile(absl::string_view pattern, PatternSyntax syntax,
                                             PatternCase letter_case);
  LinePattern(LinePattern&&) noexcept;
  LinePattern& operator=(LinePattern&&) noexcept;
  ~LinePattern();

  // The first match in the lines of `text` from `from` to `end`, both at a line's beginning (or the
  // end of the text).
  [[nodiscard]] std::optional<LineMatch> Find(absl::string_view text, size_t from, size_t end,
                                              LineScan* scan) const;

  // How much text to ask about at a time so that a deadline is seen between: well below a second.
  [[nodiscard]] size_t piece_bytes() const;

 private:
  LinePattern();

  absl::Status CompileRegex(absl::string_view regex, PatternCase letter_case);
  void FindRequiredLiteral(absl::string_view regex, PatternCase letter_case);
  [[nodiscard]] std::optional<LineMatch> Search(absl::string_view sane, size_t from,
                                                size_t end) const;
  [[nodiscard]] std::optional<LineMatch> SearchLine(absl::string_view text, size_t from, size_t end,
                                                    LineScan* scan) const;
  [[nodiscard]] std::optional<LineMatch> SearchLines(absl::string_view text, size_t from,
                                                     size_t end, LineScan* scan) const;

  std::optional<LiteralFinder> whole_;     // the pattern itself, when it needs no engine
  std::optional<LiteralFinder> required_;  // in every match
  std::unique_ptr<re2::RE2> regex_;
  bool line_by_line_ = false;
};

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_LINE_PATTERN_H_
