// How a content search is asked for, and what it gives.
#ifndef CUBBY_SEARCH_GREP_OPTIONS_H_
#define CUBBY_SEARCH_GREP_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cubby/search/glob_pattern.h"
#include "cubby/search/text_reader.h"
#include "cubby/search/walker.h"

namespace cubby::search {

inline constexpr uint32_t kMaxContextLines = 100;
inline constexpr size_t kExcerptChars = 200;

struct GrepOptions {
  uint64_t max_results = 100;  // matching lines
  // Which files: by their path below the root, or by its last name when the root is a file.
  std::optional<GlobPattern> glob;
  uint64_t max_file_bytes = 1'000'000;  // a larger file is skipped and counted
  uint32_t context_before = 0;          // lines, at most kMaxContextLines
  uint32_t context_after = 0;
  // Threads that read and match, beside the calling one when more than 1. Results are the same.
  uint32_t threads = 1;
  WalkOptions walk;
};

// Lines are without their LF, or CR and LF.
struct ContextLine {
  std::string text;  // the first kExcerptChars characters
  bool cut_after = false;
};

// One line with its first match.
struct GrepMatch {
  std::string path;        // SearchRoot::Shown
  uint64_t line = 0;       // from 1; only LF ends a line
  uint64_t column = 0;     // from 1, in bytes of the line as UTF-8
  std::string text;        // kExcerptChars characters around the match
  size_t match_begin = 0;  // in `text`
  size_t match_end = 0;
  bool cut_before = false;  // the line begins before `text`
  bool cut_after = false;   // the line goes on after `text`
  TextEncoding encoding = TextEncoding::kUtf8;
  // The lines next to this one, whether they match or not; the last of `before` and the first of
  // `after` touch it.
  std::vector<ContextLine> before;
  std::vector<ContextLine> after;
};

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_GREP_OPTIONS_H_
