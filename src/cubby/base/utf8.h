// Characters in bytes that should be UTF-8 and need not be: names and file content.
#ifndef CUBBY_BASE_UTF8_H_
#define CUBBY_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace cubby {

// A byte that is no part of a valid sequence counts as one character of its own, with this added.
inline constexpr uint32_t kInvalidByte = 0x110000;

struct Utf8Char {
  uint32_t value;
  uint32_t length;  // bytes, at least 1
};

// The character at the front of `text`, which must not be empty.
Utf8Char DecodeUtf8(absl::string_view text);

// Where the first byte stands that is no part of a valid sequence; `text.size()` when all is valid.
size_t FirstInvalidUtf8(absl::string_view text);

// U+FFFD in place of every byte that is no part of a valid sequence.
std::string MendUtf8(absl::string_view text);

void AppendUtf8(uint32_t code_point, std::string* out);

// The nearest place at or after `at` (at or before, for Floor) that is not inside a character.
size_t CeilCharBoundary(absl::string_view text, size_t at);
size_t FloorCharBoundary(absl::string_view text, size_t at);

}  // namespace cubby

#endif  // CUBBY_BASE_UTF8_H_
