#include "cubby/base/utf8.h"

#include "gtest/gtest.h"

namespace cubby {
namespace {

TEST(Utf8, OnlyValidSequencesAreOneCharacter) {
  EXPECT_EQ(DecodeUtf8("a").value, 'a');
  EXPECT_EQ(DecodeUtf8("\xC3\xA9x").value, 0xE9u);
  EXPECT_EQ(DecodeUtf8("\xE2\x82\xAC").value, 0x20ACu);
  EXPECT_EQ(DecodeUtf8("\xF0\x9F\x98\x80").value, 0x1F600u);
  // Stray and missing continuations, overlong forms, surrogates, beyond the last code point.
  for (const char* bad : {"\x80", "\xC3", "\xC3(", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    const Utf8Char c = DecodeUtf8(bad);
    EXPECT_EQ(c.length, 1u) << bad;
    EXPECT_EQ(c.value, kInvalidByte + static_cast<unsigned char>(bad[0])) << bad;
  }
}

TEST(Utf8, TheFirstInvalidByteIsFoundAnywhere) {
  for (size_t at = 0; at < 40; ++at) {
    std::string text(40, 'a');
    EXPECT_EQ(FirstInvalidUtf8(text), 40u);
    text[at] = '\xFF';
    EXPECT_EQ(FirstInvalidUtf8(text), at);
  }
}

TEST(Utf8, EncodingIsTheInverseOfDecoding) {
  for (uint32_t c : {0x0u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string text;
    AppendUtf8(c, &text);
    EXPECT_EQ(DecodeUtf8(text).value, c);
    EXPECT_EQ(DecodeUtf8(text).length, text.size());
  }
}

TEST(Utf8, BoundariesNeverFallInsideACharacter) {
  const std::string text =
      "a\xE2\x82\xAC"
      "b";  // a € b
  EXPECT_EQ(FloorCharBoundary(text, 1), 1u);
  EXPECT_EQ(FloorCharBoundary(text, 2), 1u);
  EXPECT_EQ(FloorCharBoundary(text, 3), 1u);
  EXPECT_EQ(FloorCharBoundary(text, 4), 4u);
  EXPECT_EQ(CeilCharBoundary(text, 2), 4u);
  EXPECT_EQ(CeilCharBoundary(text, 99), text.size());
  const std::string stray(10, '\x80');
  EXPECT_EQ(FloorCharBoundary(stray, 6), 6u) << "bytes that are no UTF-8 are cut anywhere";
}

}  // namespace
}  // namespace cubby
