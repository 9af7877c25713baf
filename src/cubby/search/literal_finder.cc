#include "cubby/search/literal_finder.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>

#include "absl/strings/ascii.h"

namespace cubby::search {
namespace {

// How common a byte is in source code and prose; 0 is the rarest. Only the order matters.
int Commonness(uint8_t byte) {
  constexpr absl::string_view kFromCommon = " etaoinsrlcdupmfhg\n_.,()-=\"bvywk/:;0'1x<>*{}";
  const size_t place = kFromCommon.find(absl::ascii_tolower(byte));
  if (place != absl::string_view::npos) {
    // Capitals are rarer than their letters.
    return 60 - static_cast<int>(place) - (absl::ascii_isupper(byte) ? 15 : 0);
  }
  return byte == 0 ? 20 : 5;
}

}  // namespace

LiteralFinder::LiteralFinder(absl::string_view needle, Letters letters)
    : needle_(letters == Letters::kFoldAscii ? absl::AsciiStrToLower(needle) : std::string(needle)),
      letters_(letters) {
  const auto probe = [this](size_t offset) {
    const auto byte = static_cast<uint8_t>(needle_[offset]);
    const bool both = letters_ == Letters::kFoldAscii && absl::ascii_isalpha(byte);
    return Probe{offset, byte, static_cast<uint8_t>(both ? 0x20 : 0)};
  };
  const auto rarity = [this](size_t offset) {
    return Commonness(static_cast<uint8_t>(needle_[offset]));
  };
  size_t rarest = 0;
  for (size_t i = 1; i < needle_.size(); ++i) {
    if (rarity(i) < rarity(rarest)) rarest = i;
  }
  size_t second = rarest == 0 && needle_.size() > 1 ? 1 : 0;
  for (size_t i = 0; i < needle_.size(); ++i) {
    if (i != rarest && rarity(i) < rarity(second)) second = i;
  }
  rarest_ = probe(rarest);
  second_ = probe(second);
}

size_t LiteralFinder::NextCandidate(const char* text, size_t from, size_t places) const {
  size_t at = from;
#if defined(__SSE2__)
  const __m128i byte1 = _mm_set1_epi8(static_cast<char>(rarest_.byte));
  const __m128i fold1 = _mm_set1_epi8(static_cast<char>(rarest_.fold));
  const __m128i byte2 = _mm_set1_epi8(static_cast<char>(second_.byte));
  const __m128i fold2 = _mm_set1_epi8(static_cast<char>(second_.fold));
  const auto hits = [&](size_t place) {
    const auto* p1 = reinterpret_cast<const __m128i*>(text + place + rarest_.offset);
    const auto* p2 = reinterpret_cast<const __m128i*>(text + place + second_.offset);
    const __m128i hit1 = _mm_cmpeq_epi8(_mm_or_si128(_mm_loadu_si128(p1), fold1), byte1);
    const __m128i hit2 = _mm_cmpeq_epi8(_mm_or_si128(_mm_loadu_si128(p2), fold2), byte2);
    return _mm_and_si128(hit1, hit2);
  };
  for (; at + 64 <= places; at += 64) {
    const __m128i any = _mm_or_si128(_mm_or_si128(hits(at), hits(at + 16)),
                                     _mm_or_si128(hits(at + 32), hits(at + 48)));
    if (_mm_movemask_epi8(any) != 0) break;
  }
  for (; at + 16 <= places; at += 16) {
    const int mask = _mm_movemask_epi8(hits(at));
    if (mask != 0) return at + static_cast<size_t>(__builtin_ctz(static_cast<unsigned>(mask)));
  }
#endif
  for (; at < places; ++at) {
    const auto first = static_cast<uint8_t>(text[at + rarest_.offset]);
    const auto second = static_cast<uint8_t>(text[at + second_.offset]);
    if ((first | rarest_.fold) == rarest_.byte && (second | second_.fold) == second_.byte) {
      return at;
    }
  }
  return npos;
}

bool LiteralFinder::IsAt(const char* place) const {
  if (letters_ == Letters::kExact) return memcmp(place, needle_.data(), needle_.size()) == 0;
  return std::equal(needle_.begin(), needle_.end(), place,
                    [](char want, char have) { return want == absl::ascii_tolower(have); });
}

size_t LiteralFinder::Find(absl::string_view text, size_t from) const {
  if (text.size() < needle_.size()) return npos;
  const size_t places = text.size() - needle_.size() + 1;
  // A text made for it fits the two bytes everywhere and the needle nowhere.
  size_t wasted = 0;
  const size_t allowed = 16 * text.size() + (size_t{64} << 10);
  while (from < places) {
    const size_t at = NextCandidate(text.data(), from, places);
    if (at == npos) return npos;
    if (IsAt(text.data() + at)) return at;
    wasted += needle_.size();
    if (wasted > allowed && needle_.size() > 64) return FindSlowly(text, at + 1);
    from = at + 1;
  }
  return npos;
}

size_t LiteralFinder::FindSlowly(absl::string_view text, size_t from) const {
  const auto find = [this, from](const char* in, size_t size) {
    const void* at = memmem(in + from, size - from, needle_.data(), needle_.size());
    return at == nullptr ? npos : static_cast<size_t>(static_cast<const char*>(at) - in);
  };
  if (letters_ == Letters::kExact) return find(text.data(), text.size());
  const std::string lower = absl::AsciiStrToLower(text);
  return find(lower.data(), lower.size());
}

}  // namespace cubby::search
