#include "cubby/tools/text_limits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cubby/base/utf8.h"

namespace cubby::tools {
namespace {

bool StartsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

absl::string_view LastCharacters(absl::string_view text, int64_t count) {
  size_t begin = text.size();
  while (begin > 0 && count > 0) {
    --begin;
    if (StartsCharacter(text[begin])) --count;
  }
  return text.substr(begin);
}

}  // namespace

int64_t CharacterCount(absl::string_view text) {
  return std::count_if(text.begin(), text.end(), StartsCharacter);
}

absl::string_view FirstCharacters(absl::string_view text, int64_t count) {
  size_t end = 0;
  while (end < text.size() && (count > 0 || !StartsCharacter(text[end]))) {
    if (StartsCharacter(text[end])) --count;
    ++end;
  }
  return text.substr(0, end);
}

std::string CutMiddle(absl::string_view text, int64_t limit) {
  const int64_t total = CharacterCount(text);
  if (limit <= 0 || total <= limit) return std::string(text);
  // The number in the marker depends on how long the marker is: its longest form is reserved.
  const auto marker = [](int64_t skipped) {
    return absl::StrCat("\n... [", skipped, " characters skipped] ...\n");
  };
  const int64_t reserved = CharacterCount(marker(total));
  if (reserved >= limit) return std::string(FirstCharacters(text, limit));
  const int64_t kept = limit - reserved;
  const absl::string_view head = FirstCharacters(text, kept - kept / 2);
  const absl::string_view tail = LastCharacters(text, kept / 2);
  return absl::StrCat(head, marker(total - kept), tail);
}

std::string CutEnd(absl::string_view text, int64_t total, int64_t limit, absl::string_view advice) {
  if (limit <= 0 || (total >= 0 && total <= limit)) return std::string(text);
  const auto marker = [&](int64_t shown) {
    return absl::StrCat("\n... [truncated: showing the first ", shown, " of ",
                        total < 0 ? std::string("many more") : absl::StrCat(total), " characters. ",
                        advice, "]");
  };
  const int64_t reserved = CharacterCount(marker(limit));
  if (reserved >= limit) return std::string(FirstCharacters(text, limit));
  const absl::string_view head = FirstCharacters(text, limit - reserved);
  return absl::StrCat(head, marker(CharacterCount(head)));
}

std::string OneLine(absl::string_view text) {
  std::string line;
  for (const char c : MendUtf8(text)) {
    if (c != '\t' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)) {
      absl::StrAppend(&line, "\\x", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace cubby::tools
