#include "cubby/base/utf8.h"

#include <cstring>

namespace cubby {
namespace {

bool IsContinuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

Utf8Char DecodeUtf8(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  uint32_t length = 0;
  uint32_t value = 0;
  uint32_t least = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2, value = lead & 0x1F, least = 0x80;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3, value = lead & 0x0F, least = 0x800;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4, value = lead & 0x07, least = 0x10000;
  } else {
    return {kInvalidByte + lead, 1};
  }
  if (text.size() < length) return {kInvalidByte + lead, 1};
  for (uint32_t i = 1; i < length; ++i) {
    if (!IsContinuation(byte(i))) return {kInvalidByte + lead, 1};
    value = value << 6 | (byte(i) & 0x3F);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < least || value > 0x10FFFF || surrogate) return {kInvalidByte + lead, 1};
  return {value, length};
}

size_t FirstInvalidUtf8(absl::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    // Source text is nearly all ASCII: eight bytes at a time.
    uint64_t word = 0;
    while (at + sizeof(word) <= text.size()) {
      memcpy(&word, text.data() + at, sizeof(word));
      if ((word & 0x8080808080808080u) != 0) break;
      at += sizeof(word);
    }
    if (at == text.size()) break;
    const Utf8Char c = DecodeUtf8(text.substr(at));
    if (c.value >= kInvalidByte) return at;
    at += c.length;
  }
  return text.size();
}

std::string MendUtf8(absl::string_view text) {
  std::string mended;
  while (true) {
    const size_t valid = FirstInvalidUtf8(text);
    mended.append(text.data(), valid);
    if (valid == text.size()) return mended;
    mended += "\xef\xbf\xbd";
    text.remove_prefix(valid + 1);
  }
}

void AppendUtf8(uint32_t code_point, std::string* out) {
  const auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

size_t FloorCharBoundary(absl::string_view text, size_t at) {
  if (at >= text.size()) return text.size();
  // A character has at most three continuation bytes; more of them is no UTF-8, and cut anywhere.
  for (size_t back = 0; back < 4 && back <= at; ++back) {
    const size_t lead = at - back;
    if (IsContinuation(static_cast<unsigned char>(text[lead]))) continue;
    return lead + DecodeUtf8(text.substr(lead)).length > at ? lead : at;
  }
  return at;
}

size_t CeilCharBoundary(absl::string_view text, size_t at) {
  if (at >= text.size()) return text.size();
  const size_t floor = FloorCharBoundary(text, at);
  return floor == at ? at : floor + DecodeUtf8(text.substr(floor)).length;
}

}  // namespace cubby
