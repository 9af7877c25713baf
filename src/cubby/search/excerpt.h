// The part of a long line that is shown.
#ifndef CUBBY_SEARCH_EXCERPT_H_
#define CUBBY_SEARCH_EXCERPT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace cubby::search {

struct Excerpt {
  std::string text;        // bytes as they are in the file
  size_t match_begin = 0;  // in `text`
  size_t match_end = 0;
  bool cut_before = false;  // the line begins before `text`
  bool cut_after = false;   // the line goes on after `text`
};

// At most `max_chars` characters of `line` around its part [begin, end), with the same room before
// and after where the line has it. A longer match is shown from its beginning. Characters are never
// cut in two.
Excerpt MakeExcerpt(absl::string_view line, size_t begin, size_t end, size_t max_chars);

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_EXCERPT_H_
