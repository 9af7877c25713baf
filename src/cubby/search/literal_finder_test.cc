#include "cubby/search/literal_finder.h"

#include <random>

#include "absl/strings/ascii.h"
#include "cubby/base/deadline.h"
#include "gtest/gtest.h"

namespace cubby::search {
namespace {

TEST(LiteralFinder, AgreesWithAPlainSearchOnRandomText) {
  std::mt19937 random(11);
  const auto word = [&random](size_t size) {
    std::string text(size, ' ');
    for (char& c : text) c = "abAB\n\xC3"[random() % 6];
    return text;
  };
  size_t found = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string needle = word(1 + random() % 5);
    const std::string text = word(random() % 200);
    const size_t from = text.empty() ? 0 : random() % text.size();
    const size_t exact = text.find(needle, from);
    ASSERT_EQ(LiteralFinder(needle, Letters::kExact).Find(text, from), exact);
    ASSERT_EQ(LiteralFinder(needle, Letters::kFoldAscii).Find(text, from),
              absl::AsciiStrToLower(text).find(absl::AsciiStrToLower(needle), from));
    found += exact != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(found, 2000u);
}

TEST(LiteralFinder, ATextMadeForItTakesLinearTime) {
  const std::string needle(60000, 'a');
  std::string text;
  while (text.size() < (8u << 20)) text += std::string(59999, 'a') + "b";
  const absl::Duration start = MonotonicNow();
  for (Letters letters : {Letters::kExact, Letters::kFoldAscii}) {
    EXPECT_EQ(LiteralFinder(needle, letters).Find(text, 0), LiteralFinder::npos);
  }
  // Trying every place takes minutes.
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(10));
}

}  // namespace
}  // namespace cubby::search
