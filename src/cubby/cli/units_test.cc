#include "cubby/cli/units.h"

#include <signal.h>

#include <gtest/gtest.h>

namespace cubby::cli {
namespace {

TEST(Units, SizesAreReadAsPeopleWriteThem) {
  EXPECT_EQ(*ParseSize("512M"), 512 << 20);
  EXPECT_EQ(*ParseSize("1.5G"), int64_t{3} << 29);
  EXPECT_EQ(*ParseSize("64KiB"), 64 << 10);
  EXPECT_EQ(*ParseSize("64kb"), 64 << 10);
  EXPECT_EQ(*ParseSize("10 MB"), 10 << 20);
  EXPECT_EQ(*ParseSize("17"), 17);
  EXPECT_EQ(*ParseSize("17B"), 17);
}

TEST(Units, WrongSizesAreRefusedByName) {
  for (const char* text :
       {"", "M", "12X", "1..5G", "-1M", "9999999P", "iB", "5 i", "1e3", "12iB"}) {
    const auto size = ParseSize(text);
    ASSERT_FALSE(size.ok()) << text;
    EXPECT_NE(size.status().message().find(text), std::string::npos);
  }
}

TEST(Units, SizesArePrintedShort) {
  EXPECT_EQ(FormatSize(0), "0 B");
  EXPECT_EQ(FormatSize(1023), "1023 B");
  EXPECT_EQ(FormatSize(1536), "1.5 KiB");
  EXPECT_EQ(FormatSize(1 << 30), "1 GiB");
}

TEST(Units, TimesAreReadAsPeopleWriteThem) {
  EXPECT_EQ(*ParseSpan("30"), absl::Seconds(30));
  EXPECT_EQ(*ParseSpan("0.5"), absl::Milliseconds(500));
  EXPECT_EQ(*ParseSpan("30s"), absl::Seconds(30));
  EXPECT_EQ(*ParseSpan("5m"), absl::Minutes(5));
  EXPECT_EQ(*ParseSpan("1h30m"), absl::Minutes(90));
  EXPECT_EQ(*ParseSpan("2d"), absl::Hours(48));
  EXPECT_EQ(*ParseSpan("1d12h"), absl::Hours(36));
  for (const char* text : {"", "s", "-5", "-5s", "5x", "d", "1.2.3"}) {
    EXPECT_FALSE(ParseSpan(text).ok()) << text;
  }
}

TEST(Units, ModesAndSignals) {
  EXPECT_EQ(*ParseMode("0755"), 0755U);
  EXPECT_EQ(*ParseMode("644"), 0644U);
  for (const char* text : {"", "8", "rwx", "17777", "-1"}) EXPECT_FALSE(ParseMode(text).ok());
  EXPECT_EQ(*ParseSignal("TERM"), SIGTERM);
  EXPECT_EQ(*ParseSignal("sigint"), SIGINT);
  EXPECT_EQ(*ParseSignal("9"), SIGKILL);
  for (const char* text : {"", "0", "99", "-1", "NOPE"}) EXPECT_FALSE(ParseSignal(text).ok());
}

}  // namespace
}  // namespace cubby::cli
