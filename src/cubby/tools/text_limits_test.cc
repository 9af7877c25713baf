#include "cubby/tools/text_limits.h"

#include "cubby/tools/exec_text.h"
#include "cubby/tools/redaction.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby::tools {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(TextLimits, MiddleIsCutAndTheWholeNeverExceedsTheLimit) {  // T-14
  const std::string text = std::string(500, 'a') + std::string(500, 'z');
  for (int64_t limit = 1; limit <= 1001; ++limit) {
    const std::string cut = CutMiddle(text, limit);
    EXPECT_LE(CharacterCount(cut), limit);
    EXPECT_THAT(cut, StartsWith("a"));
    if (limit >= 1000) EXPECT_EQ(cut, text);
  }
  const std::string cut = CutMiddle(text, 100);
  EXPECT_THAT(cut, HasSubstr("characters skipped"));
  EXPECT_THAT(cut, EndsWith("z"));
  EXPECT_EQ(CutMiddle(text, 0), text) << "0 switches it off";
  EXPECT_EQ(CutMiddle(text, 5), "aaaaa") << "not even the marker fits";
}

TEST(TextLimits, CharactersAreNeverCutInTwo) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "\xc3\xa9\xf0\x9f\x98\x80";
  for (int64_t limit = 80; limit < 160; ++limit) {
    const std::string middle = CutMiddle(text, limit);
    const std::string end = CutEnd(text, CharacterCount(text), limit, "");
    EXPECT_LE(CharacterCount(middle), limit);
    EXPECT_LE(CharacterCount(end), limit);
    for (const std::string& cut : {middle, end}) {
      EXPECT_THAT(cut, StartsWith("\xc3\xa9\xf0\x9f\x98\x80"));
      EXPECT_THAT(cut, Not(HasSubstr("\xc3.")));
    }
  }
}

TEST(TextLimits, EndIsCutWithWhatIsShownOfHowMuch) {  // T-20, T-41
  const std::string cut = CutEnd(std::string(1000, 'x'), 1000, 200, "Do this.");
  EXPECT_EQ(CharacterCount(cut), 200);
  EXPECT_THAT(cut, HasSubstr("of 1000 characters. Do this."));
  EXPECT_THAT(CutEnd(std::string(1000, 'x'), -1, 200, ""), HasSubstr("of many more"));
  EXPECT_EQ(CutEnd("short", 5, 200, ""), "short");
}

TEST(TextLimits, ALineCannotPassForTwo) {
  EXPECT_EQ(OneLine("a\nb\x1b[0m\tc\xff"), "a\\x0ab\\x1b[0m\tc\xef\xbf\xbd");
}

TEST(Redaction, LongValuesGoInEveryForm) {  // E-6, D-60
  const std::map<std::string, std::string> secrets = {
      {"A", "s3cret/value"}, {"B", "s3cret/value-and-more"}, {"SHORT", "1234567"}};
  EXPECT_EQ(Redact("x s3cret/value-and-more y s3cret/value 1234567", secrets),
            "x [redacted] y [redacted] 1234567");
  EXPECT_EQ(Redact("czNjcmV0L3ZhbHVl s3cret%2Fvalue s3cret%2fvalue", secrets),
            "[redacted] [redacted] [redacted]");
}

TEST(ExecText, SaysWhatTheLegacyFormSays) {  // C-12, C-17, C-19
  ExecResult result;
  EXPECT_EQ(ExecText(result, absl::Seconds(1)), "(no output)");
  result.exit_code = 1;
  EXPECT_EQ(ExecText(result, absl::Seconds(1)), "\nExit Code: 1");
  result.out.bytes = "out\n";
  result.err.bytes = "err\n";
  EXPECT_EQ(ExecText(result, absl::Seconds(1)), "out\n\nStd Error:\nerr\n\nExit Code: 1");
  result.out.bytes.clear();
  result.exit_code = 0;
  EXPECT_EQ(ExecText(result, absl::Seconds(1)), "err\n");
  result = {.timed_out = true};
  EXPECT_THAT(ExecText(result, absl::Seconds(1)), StartsWith("Command timed out after 1 second "));
  EXPECT_THAT(ExecText(result, absl::Milliseconds(1500)), HasSubstr("after 1.5 seconds "));
  result = {};
  result.out = {.bytes = "ab\xff", .total_bytes = 100, .truncated = true};
  EXPECT_EQ(ExecText(result, absl::Seconds(1)),
            "ab\xef\xbf\xbd\n[output truncated: kept 3 of 100 bytes]");
}

}  // namespace
}  // namespace cubby::tools
