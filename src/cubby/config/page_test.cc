#include "cubby/config/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "cubby/base/file.h"
#include "cubby/config/setting.h"

namespace cubby::config {
namespace {

using ::testing::HasSubstr;

TEST(Page, ThePageInTheTreeIsCurrent) {
  const auto page = ReadSmallFile(CUBBY_PAGE);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_TRUE(*page == ConfigurationPage())
      << "make it again: build cubby-config-page, and "
         "build/release/bin/cubby-config-page > docs/configuration.md";
}

TEST(Page, NamesEverySettingInARowOfFiveCells) {
  const std::string page = ConfigurationPage();
  for (const Setting& setting : Settings()) {
    const std::string start = absl::StrCat("| `", setting.key, "` | ");
    ASSERT_THAT(page, HasSubstr(start));
    const size_t at = page.find(start);
    const std::string row = page.substr(at, page.find('\n', at) - at);
    EXPECT_EQ(std::count(row.begin(), row.end(), '|'), 6) << row;
    EXPECT_THAT(row, HasSubstr(setting.other_key));
  }
}

}  // namespace
}  // namespace cubby::config
