#include "cubby/search/excerpt.h"

#include <algorithm>

#include "cubby/base/utf8.h"

namespace cubby::search {
namespace {

struct Step {
  size_t at;
  size_t chars;
};

Step Forward(absl::string_view line, size_t at, size_t max_chars, size_t stop) {
  size_t chars = 0;
  while (at < stop && chars < max_chars) {
    at += DecodeUtf8(line.substr(at)).length;
    ++chars;
  }
  return {std::min(at, line.size()), chars};
}

Step Backward(absl::string_view line, size_t at, size_t max_chars) {
  size_t chars = 0;
  while (at > 0 && chars < max_chars) {
    at = FloorCharBoundary(line, at - 1);
    ++chars;
  }
  return {at, chars};
}

}  // namespace

Excerpt MakeExcerpt(absl::string_view line, size_t begin, size_t end, size_t max_chars) {
  const Step match = Forward(line, begin, max_chars, end);
  const size_t room = max_chars - match.chars;
  // What one side does not need goes to the other.
  const size_t wanted_after = room - room / 2;
  const size_t has_after = Forward(line, match.at, wanted_after, line.size()).chars;
  const Step before = Backward(line, begin, room - has_after);
  const Step after = Forward(line, match.at, room - before.chars, line.size());
  Excerpt excerpt;
  excerpt.text = std::string(line.substr(before.at, after.at - before.at));
  excerpt.match_begin = begin - before.at;
  excerpt.match_end = std::min(end, after.at) - before.at;
  excerpt.cut_before = before.at > 0;
  excerpt.cut_after = after.at < line.size();
  return excerpt;
}

}  // namespace cubby::search
