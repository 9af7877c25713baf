// Text cut to what a model should read, with a marker that says so. Lengths are in characters; no
// character is cut in two.
#ifndef CUBBY_TOOLS_TEXT_LIMITS_H_
#define CUBBY_TOOLS_TEXT_LIMITS_H_

#include <stdint.h>

#include <string>

#include "absl/strings/string_view.h"

namespace cubby::tools {

int64_t CharacterCount(absl::string_view text);
// The first `count` characters.
absl::string_view FirstCharacters(absl::string_view text, int64_t count);

// The beginning and the end around a marker that says how many characters are missing; the whole,
// marker included, has at most `limit` characters. Where not even the marker fits, the beginning. A
// limit of 0 or less is none. [T-14]
std::string CutMiddle(absl::string_view text, int64_t limit);

// The beginning, and a marker that says how many of how many characters are shown and what to do.
// `total` is how many there would be (-1: more than anybody counted). [T-20, T-41]
std::string CutEnd(absl::string_view text, int64_t total, int64_t limit, absl::string_view advice);

// A name or a line as one line of valid UTF-8: control characters but tabs are escaped, so that
// neither can pass for something else.
std::string OneLine(absl::string_view text);

}  // namespace cubby::tools

#endif  // CUBBY_TOOLS_TEXT_LIMITS_H_
