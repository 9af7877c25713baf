#include "cubby/search/file_search.h"

#include <errno.h>

#include <algorithm>
#include <utility>

#include "cubby/search/excerpt.h"

namespace cubby::search {
namespace {

constexpr size_t npos = absl::string_view::npos;

ContextLine MakeContextLine(absl::string_view line) {
  Excerpt excerpt = MakeExcerpt(line, 0, 0, kExcerptChars);
  return {std::move(excerpt.text), excerpt.cut_after};
}

// The beginning of the line that `at` stands in.
size_t LineBegin(absl::string_view text, size_t at) {
  const size_t lf = at == 0 ? npos : text.rfind('\n', at - 1);
  return lf == npos ? 0 : lf + 1;
}

uint64_t CountLines(absl::string_view text) {
  return static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

void CountFileError(int error_number, const std::string& shown, Summary* summary) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
      ++summary->vanished;
      break;
    case ELOOP:  // a symlink by now
      ++summary->skipped.symlinks;
      break;
    case ENXIO:  // a socket by now
      ++summary->skipped.special;
      break;
    default:
      summary->AddUnreadable(shown);
  }
}

void FileSearch::Count(TextOutcome outcome, const std::string& shown, Summary* summary) {
  switch (outcome) {
    case TextOutcome::kText:
      break;
    case TextOutcome::kBinary:
      ++summary->skipped.binary;
      break;
    case TextOutcome::kTooLarge:
      ++summary->skipped.too_large;
      break;
    case TextOutcome::kSpecial:
      ++summary->skipped.special;
      break;
    case TextOutcome::kUnreadable:
      CountFileError(reader_.error_number(), shown, summary);
  }
}

bool FileSearch::Search(int fd, const std::string& shown, Summary* summary, Emit emit) {
  if (fd < 0) {
    CountFileError(-fd, shown, summary);
    return true;
  }
  const TextOutcome outcome = reader_.Start(fd);
  if (outcome != TextOutcome::kText) {
    Count(outcome, shown, summary);
    return true;
  }
  if (reader_.encoding() != TextEncoding::kUtf8) ++summary->utf16_files;
  return SearchText(shown, summary, emit);
}

// Up to where lines can be searched now: they are whole, and their context after them is there.
size_t FileSearch::SearchableEnd() const {
  const absl::string_view text = reader_.text();
  if (reader_.at_end()) return text.size();
  size_t end = LineBegin(text, text.size());
  for (uint32_t i = 0; i < options_.context_after && end > 0; ++i) end = LineBegin(text, end - 1);
  return end;
}

// Where the lines begin that are context before the line at `at`.
size_t FileSearch::HistoryBegin(size_t at) const {
  const absl::string_view text = reader_.text();
  for (uint32_t i = 0; i < options_.context_before && at > 0; ++i) at = LineBegin(text, at - 1);
  return at;
}

bool FileSearch::SearchText(const std::string& shown, Summary* summary, Emit emit) {
  const size_t piece = pattern_.piece_bytes();
  uint64_t line_number = 1;  // of the line at `from`
  size_t from = 0;
  while (true) {
    const absl::string_view text = reader_.text();
    const size_t end = SearchableEnd();
    scan_.Reset();
    while (from < end) {
      size_t piece_end = end;
      if (end - from > piece) {
        const size_t lf = text.find('\n', from + piece);
        piece_end = lf == npos ? end : std::min(end, lf + 1);
        if (const Truncation cause = options_.walk.interrupt.Check(); cause != Truncation::kNone) {
          summary->Truncate(cause);
          return false;
        }
      }
      const std::optional<LineMatch> match = pattern_.Find(text, from, piece_end, &scan_);
      if (!match.has_value()) {
        line_number += CountLines(text.substr(from, piece_end - from));
        from = piece_end;
        continue;
      }
      const size_t begin = LineBegin(text, match->begin);
      const size_t line_end = std::min(text.find('\n', match->begin), text.size());
      line_number += CountLines(text.substr(from, begin - from));
      GrepMatch result = Describe(shown, begin, line_end, *match);
      result.line = line_number;
      if (!emit(std::move(result))) return false;
      ++line_number;
      from = line_end + 1;
    }
    if (reader_.at_end()) return true;
    from = std::min(from, end);
    const size_t keep = HistoryBegin(from);
    from -= keep;
    const TextOutcome outcome = reader_.ReadMore(keep);
    if (outcome != TextOutcome::kText) {
      Count(outcome, shown, summary);
      return true;
    }
  }
}

GrepMatch FileSearch::Describe(const std::string& shown, size_t line_begin, size_t line_end,
                               const LineMatch& match) const {
  const absl::string_view text = reader_.text();
  Excerpt excerpt = MakeExcerpt(text.substr(line_begin, line_end - line_begin),
                                match.begin - line_begin, match.end - line_begin, kExcerptChars);
  GrepMatch result;
  result.path = shown;
  result.column = match.begin - line_begin + 1;
  result.text = std::move(excerpt.text);
  result.match_begin = excerpt.match_begin;
  result.match_end = excerpt.match_end;
  result.cut_before = excerpt.cut_before;
  result.cut_after = excerpt.cut_after;
  result.encoding = reader_.encoding();
  for (size_t at = HistoryBegin(line_begin); at < line_begin;) {
    const size_t end = text.find('\n', at);
    result.before.push_back(MakeContextLine(text.substr(at, end - at)));
    at = end + 1;
  }
  size_t at = line_end + 1;
  for (uint32_t i = 0; i < options_.context_after && at < text.size(); ++i) {
    const size_t end = std::min(text.find('\n', at), text.size());
    result.after.push_back(MakeContextLine(text.substr(at, end - at)));
    at = end + 1;
  }
  return result;
}

}  // namespace cubby::search
