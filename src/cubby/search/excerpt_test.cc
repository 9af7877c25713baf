#include "cubby/search/excerpt.h"

#include "gtest/gtest.h"

namespace cubby::search {
namespace {

std::string Show(const Excerpt& e) {
  return (e.cut_before ? "<" : "") + e.text.substr(0, e.match_begin) + "(" +
         e.text.substr(e.match_begin, e.match_end - e.match_begin) + ")" +
         e.text.substr(e.match_end) + (e.cut_after ? ">" : "");
}

TEST(Excerpt, AShortLineIsShownWhole) {
  EXPECT_EQ(Show(MakeExcerpt("abcdef", 2, 4, 200)), "ab(cd)ef");
  EXPECT_EQ(Show(MakeExcerpt("", 0, 0, 200)), "()");
  EXPECT_EQ(Show(MakeExcerpt("abcdef", 0, 6, 6)), "(abcdef)");
}

TEST(Excerpt, ALongLineIsCutAroundTheMatch) {
  const std::string digits = "01234567890123456789";
  EXPECT_EQ(Show(MakeExcerpt(digits, 10, 12, 6)), "<89(01)23>");
  EXPECT_EQ(Show(MakeExcerpt(digits, 0, 2, 6)), "(01)2345>");
  EXPECT_EQ(Show(MakeExcerpt(digits, 18, 20, 6)), "<4567(89)");
  EXPECT_EQ(Show(MakeExcerpt(digits, 1, 2, 6)), "0(1)2345>");
  EXPECT_EQ(Show(MakeExcerpt(digits, 17, 18, 6)), "<456(7)89");
  EXPECT_EQ(Show(MakeExcerpt(digits, 3, 15, 6)), "<(345678)>");
}

TEST(Excerpt, CharactersAreCountedAndNeverCut) {
  std::string line;
  for (int i = 0; i < 300; ++i) line += "\xE2\x82\xAC";
  const Excerpt excerpt = MakeExcerpt(line, 450, 453, 200);
  EXPECT_EQ(excerpt.text.size(), 600u);
  EXPECT_EQ(excerpt.text.substr(excerpt.match_begin, 3), "\xE2\x82\xAC");
  EXPECT_EQ(excerpt.match_begin % 3, 0u);
  const std::string stray(1000, '\x80');
  EXPECT_EQ(MakeExcerpt(stray, 500, 501, 200).text.size(), 200u);
}

}  // namespace
}  // namespace cubby::search
