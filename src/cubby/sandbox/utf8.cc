#include "cubby/sandbox/utf8.h"

#include <stdint.h>

namespace cubby {
namespace {

// Bytes of the valid character at the front, 0 when there is none.
size_t CharacterBytes(absl::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  size_t size = 0;
  uint32_t lowest = 0;
  uint32_t value = 0;
  if (first >= 0xc2 && first < 0xe0) {
    size = 2, lowest = 0x80, value = first & 0x1f;
  } else if (first >= 0xe0 && first < 0xf0) {
    size = 3, lowest = 0x800, value = first & 0x0f;
  } else if (first >= 0xf0 && first < 0xf5) {
    size = 4, lowest = 0x10000, value = first & 0x07;
  } else {
    return 0;
  }
  if (text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = value << 6 | (byte(i) & 0x3f);
  }
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  return value < lowest || value > 0x10ffff || surrogate ? 0 : size;
}

}  // namespace

size_t ValidUtf8Prefix(absl::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t size = CharacterBytes(text.substr(at));
    if (size == 0) break;
    at += size;
  }
  return at;
}

std::string MendUtf8(absl::string_view text) {
  std::string mended;
  while (!text.empty()) {
    const size_t valid = ValidUtf8Prefix(text);
    mended.append(text.data(), valid);
    text.remove_prefix(valid);
    if (text.empty()) break;
    mended += "\xef\xbf\xbd";
    text.remove_prefix(1);
  }
  return mended;
}

}  // namespace cubby
