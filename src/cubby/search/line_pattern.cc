#include "cubby/search/line_pattern.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/base/utf8.h"
#include "cubby/search/regex_syntax.h"
#include "re2/filtered_re2.h"
#include "re2/re2.h"

namespace cubby::search {
namespace {

// For the program and the two automata that grow from it.
constexpr int64_t kRegexMemory = 4 << 20;
// The engine looks at up to so many steps for each byte when its automaton does not fit in memory.
// One line is never interrupted, so this bounds by how much a deadline can be overrun.
constexpr int kMaxRegexSteps = 5000;
constexpr size_t kMaxAtoms = 64;
constexpr size_t kMaxFilteredPattern = 1000;
constexpr size_t kShortestRequired = 2;
// So many lines that hold the required string and do not match show that it is no help.
constexpr int kPatience = 64;
constexpr char kSubstitute = 0x1A;

re2::RE2::Options RegexOptions(PatternCase letter_case) {
  re2::RE2::Options options;
  options.set_case_sensitive(letter_case == PatternCase::kSensitive);
  options.set_never_nl(true);
  options.set_log_errors(false);
  options.set_max_mem(kRegexMemory);
  return options;
}

// `^` and `$` are the line's ends.
std::string MultiLine(absl::string_view regex) { return absl::StrCat("(?m)", regex); }

// The longest part in which letters have no case variants beyond ASCII: k and s do (the Kelvin
// sign, the long s), and other characters may be written in several ways.
absl::string_view LongestPlainRun(absl::string_view text) {
  absl::string_view best;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && absl::ascii_isascii(static_cast<unsigned char>(text[end])) &&
           absl::ascii_tolower(text[end]) != 'k' && absl::ascii_tolower(text[end]) != 's') {
      ++end;
    }
    if (end - begin > best.size()) best = text.substr(begin, end - begin);
    begin = end + 1;
  }
  return best;
}

// Text in which `.` and classes match bytes that are no UTF-8: each is replaced by a character, so
// that places stay what they are. Valid text is not copied.
absl::string_view Sane(absl::string_view text, std::string* copy) {
  size_t at = FirstInvalidUtf8(text);
  if (at == text.size()) return text;
  copy->assign(text.data(), text.size());
  while (at < text.size()) {
    (*copy)[at++] = kSubstitute;
    at += FirstInvalidUtf8(text.substr(at));
  }
  return *copy;
}

// The end of the line that `at` stands in, without its LF.
size_t LineEnd(absl::string_view text, size_t at) {
  return std::min(text.find('\n', at), text.size());
}

}  // namespace

LinePattern::LinePattern() = default;
LinePattern::LinePattern(LinePattern&&) noexcept = default;
LinePattern& LinePattern::operator=(LinePattern&&) noexcept = default;
LinePattern::~LinePattern() = default;

absl::StatusOr<LinePattern> LinePattern::Compile(absl::string_view pattern, PatternSyntax syntax,
                                                 PatternCase letter_case) {
  if (pattern.size() > kMaxLinePatternBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("pattern: ", pattern.size(), " bytes, the limit is ", kMaxLinePatternBytes));
  }
  LinePattern result;
  const bool literal = syntax == PatternSyntax::kLiteral;
  if (literal && pattern.find('\n') != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        "pattern: holds a newline, and lines are matched one by one; search for one line of it");
  }
  if (literal && letter_case == PatternCase::kSensitive && !pattern.empty()) {
    result.whole_.emplace(pattern, Letters::kExact);
    return result;
  }
  if (FirstInvalidUtf8(pattern) != pattern.size()) {
    return absl::InvalidArgumentError(
        "pattern: is not UTF-8; bytes are found by a literal, case-sensitive search");
  }
  if (literal) {
    CUBBY_RETURN_IF_ERROR(result.CompileRegex(
        re2::RE2::QuoteMeta(re2::StringPiece(pattern.data(), pattern.size())), letter_case));
    const absl::string_view run = LongestPlainRun(pattern);
    if (run.size() >= kShortestRequired) result.required_.emplace(run, Letters::kFoldAscii);
    return result;
  }
  CUBBY_RETURN_IF_ERROR(RefuseUnsupportedSyntax(pattern));
  CUBBY_RETURN_IF_ERROR(result.CompileRegex(pattern, letter_case));
  result.FindRequiredLiteral(pattern, letter_case);
  return result;
}

absl::Status LinePattern::CompileRegex(absl::string_view regex, PatternCase letter_case) {
  regex_ = std::make_unique<re2::RE2>(MultiLine(regex), RegexOptions(letter_case));
  if (!regex_->ok()) {
    std::string where(regex_->error_arg());
    constexpr size_t kShown = 60;
    if (where.size() > kShown) where.resize(FloorCharBoundary(where, kShown));
    return absl::InvalidArgumentError(
        absl::StrCat("pattern: ", regex_->error(), where.empty() ? "" : ": ", where));
  }
  if (regex_->ProgramSize() > kMaxRegexSteps) {
    return absl::InvalidArgumentError(absl::StrCat("pattern: too complex: ", regex_->ProgramSize(),
                                                   " steps, the limit is ", kMaxRegexSteps,
                                                   "; shorten it or its repetitions"));
  }
  line_by_line_ = HasTextAnchors(regex);
  return absl::OkStatus();
}

// RE2's own analysis gives strings ("atoms") of which a match must hold some; one without which
// nothing matches is what we need.
void LinePattern::FindRequiredLiteral(absl::string_view regex, PatternCase letter_case) {
  // Atoms are in lower case, which for some characters beyond ASCII is an ASCII letter.
  const bool plain = std::all_of(regex.begin(), regex.end(), [](char c) {
    return absl::ascii_isascii(static_cast<unsigned char>(c));
  });
  if (!plain || regex.size() > kMaxFilteredPattern) return;
  for (absl::string_view escape : {"\\x", "\\p", "\\P", "\\0"}) {
    if (regex.find(escape) != absl::string_view::npos) return;
  }
  re2::FilteredRE2 filter(static_cast<int>(kShortestRequired));
  int id = 0;
  if (filter.Add(MultiLine(regex), RegexOptions(letter_case), &id) != re2::RE2::NoError) return;
  std::vector<std::string> atoms;
  filter.Compile(&atoms);
  if (atoms.empty() || atoms.size() > kMaxAtoms) return;
  absl::string_view best;
  for (size_t i = 0; i < atoms.size(); ++i) {
    std::vector<int> others;
    for (size_t j = 0; j < atoms.size(); ++j) {
      if (j != i) others.push_back(static_cast<int>(j));
    }
    std::vector<int> possible;
    filter.AllPotentials(others, &possible);
    if (!possible.empty()) continue;
    const absl::string_view run = LongestPlainRun(atoms[i]);
    if (run.size() > best.size()) best = run;
  }
  if (best.size() >= kShortestRequired) required_.emplace(best, Letters::kFoldAscii);
}

size_t LinePattern::piece_bytes() const {
  constexpr size_t kMost = 64 << 10;
  constexpr size_t kSteps = 1 << 26;
  return regex_ == nullptr ? kMost
                           : std::min(kMost, kSteps / static_cast<size_t>(regex_->ProgramSize()));
}

std::optional<LineMatch> LinePattern::Find(absl::string_view text, size_t from, size_t end,
                                           LineScan* scan) const {
  if (whole_.has_value()) {
    const size_t at = whole_->Find(text.substr(0, end), from);
    if (at == LiteralFinder::npos) return std::nullopt;
    return LineMatch{at, at + whole_->needle().size()};
  }
  if (line_by_line_) return SearchLines(text, from, end, scan);
  while (required_.has_value() && scan->missed < kPatience) {
    const size_t at = required_->Find(text.substr(0, end), from);
    if (at == LiteralFinder::npos) return std::nullopt;
    const size_t before = at == 0 ? absl::string_view::npos : text.rfind('\n', at - 1);
    const size_t line = before == absl::string_view::npos ? 0 : before + 1;
    const size_t line_end = LineEnd(text, at);
    const auto match = SearchLine(text, std::max(line, from), line_end, scan);
    if (match.has_value()) return match;
    ++scan->missed;
    from = line_end + 1;
    if (from >= end) return std::nullopt;
  }
  if (scan->sane.empty()) scan->sane = Sane(text, &scan->copy);
  return Search(scan->sane, from, end);
}

std::optional<LineMatch> LinePattern::Search(absl::string_view sane, size_t from,
                                             size_t end) const {
  // A piece of its own: for the engine it begins and ends as a text does, which are line ends too.
  const re2::StringPiece piece(sane.data() + from, end - from);
  re2::StringPiece match;
  if (!regex_->Match(piece, 0, piece.size(), re2::RE2::UNANCHORED, &match, 1)) return std::nullopt;
  const auto begin = static_cast<size_t>(match.data() - sane.data());
  // An empty match after the last LF is in no line.
  if (begin == end && end > from && sane[end - 1] == '\n') return std::nullopt;
  return LineMatch{begin, begin + match.size()};
}

std::optional<LineMatch> LinePattern::SearchLine(absl::string_view text, size_t from, size_t end,
                                                 LineScan* scan) const {
  const absl::string_view line = text.substr(from, end - from);
  auto match = Search(Sane(line, &scan->copy), 0, line.size());
  if (match.has_value()) match = LineMatch{from + match->begin, from + match->end};
  return match;
}

std::optional<LineMatch> LinePattern::SearchLines(absl::string_view text, size_t from, size_t end,
                                                  LineScan* scan) const {
  while (from < end) {
    const size_t line_end = LineEnd(text, from);
    const auto match = SearchLine(text, from, line_end, scan);
    if (match.has_value()) return match;
    from = line_end + 1;
  }
  return std::nullopt;
}

}  // namespace cubby::search
