#include "cubby/base/env_policy.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

// C-11
TEST(EnvPolicy, KeysMustBeNames) {
  EXPECT_TRUE(CheckEnvironment({{"A_1", "x=y\nz"}, {"_", ""}}).ok());
  for (const char* key : {"", "1A", "A=B", "A-B", "A B", "\xc3\xa9"}) {
    EXPECT_EQ(CheckEnvironment({{key, "v"}}).code(), absl::StatusCode::kInvalidArgument) << key;
  }
}

TEST(EnvPolicy, ErrorsNeverShowValues) {
  const absl::Status status = CheckEnvironment({{"A=B", "hunter2"}});
  EXPECT_THAT(std::string(status.message()), testing::Not(testing::HasSubstr("hunter2")));
}

TEST(EnvPolicy, PerCallValueWins) {
  const Environment merged = MergeEnvironment({{"A", "1"}, {"B", "2"}}, {{"A", "3"}});
  EXPECT_THAT(EnvironmentStrings(merged), testing::ElementsAre("A=3", "B=2"));
}

TEST(EnvPolicy, EntryIsSplitAtTheFirstEquals) {
  Environment environment;
  ASSERT_TRUE(ParseEnvironmentEntry("A=b=c", &environment).ok());
  EXPECT_EQ(environment["A"], "b=c");
  EXPECT_FALSE(ParseEnvironmentEntry("A", &environment).ok());
}

}  // namespace
}  // namespace cubby
