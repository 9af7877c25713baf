// Searching and watching with the command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "harness.h"

namespace cubby::e2e {
namespace {

using ::testing::HasSubstr;

constexpr char kWork[] = "/mnt/user-data/workspace";

TEST(Search, GlobPrintsPathsInOrderAndSaysWhatItDidNotSee) {
  TestSandbox sandbox;
  sandbox.Script(
      "mkdir -p src/deep node_modules; touch src/b.py src/a.py src/deep/c.py "
      "node_modules/x.py 'two\nlines.py'");
  Outcome outcome = Cubby({"glob", sandbox.id(), kWork, "**/*.py"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, absl::StrCat(kWork, "/src/a.py\n", kWork, "/src/b.py\n", kWork,
                                      "/src/deep/c.py\n", kWork, "/two\nlines.py\n"));
  outcome = Cubby({"glob", "--json", "--max-results", "2", sandbox.id(), kWork, "*.py"});
  nlohmann::json json = outcome.Json();
  EXPECT_EQ(json["matches"].size(), 2U);
  EXPECT_EQ(json["matches"][0]["path"], absl::StrCat(kWork, "/src/a.py"));
  EXPECT_EQ(json["truncated"], true);
  EXPECT_EQ(json["reason"], "limit");
  outcome = Cubby({"glob", "--json", "--null", sandbox.id(), kWork, "*.py"});
  EXPECT_EQ(outcome.Json()["truncated"], false);
  EXPECT_EQ(outcome.Json()["reason"], nullptr);
  EXPECT_EQ(outcome.Json()["ignored"], 1);
  outcome = Cubby({"glob", "--no-ignore", sandbox.id(), kWork, "node_modules/*"});
  EXPECT_EQ(outcome.out, absl::StrCat(kWork, "/node_modules/x.py\n"));
  outcome = Cubby({"glob", "--compat", "--include-dirs", sandbox.id(), kWork, "src/*"});
  EXPECT_EQ(outcome.out,
            absl::StrCat(kWork, "/src/a.py\n", kWork, "/src/b.py\n", kWork, "/src/deep\n"));
}

TEST(Search, GrepPrintsPathLineAndText) {
  TestSandbox sandbox;
  sandbox.Script("printf 'one\\nTwo words\\nthree\\n' > f.txt; printf 'two.\\n' > g.md");
  EXPECT_EQ(Cubby({"grep", sandbox.id(), kWork, "two"}).out,
            absl::StrCat(kWork, "/f.txt:2:Two words\n", kWork, "/g.md:1:two.\n"));
  EXPECT_EQ(Cubby({"grep", "--case-sensitive", "--literal", sandbox.id(), kWork, "two."}).out,
            absl::StrCat(kWork, "/g.md:1:two.\n"));
  EXPECT_EQ(Cubby({"grep", "--glob", "*.txt", "--context", "1", sandbox.id(), kWork, "two"}).out,
            absl::StrCat(kWork, "/f.txt-1-one\n", kWork, "/f.txt:2:Two words\n", kWork,
                         "/f.txt-3-three\n"));
  const nlohmann::json match =
      Cubby({"grep", "--json", sandbox.id(), kWork, "words"}).Json()["matches"][0];
  EXPECT_EQ(match["line"], 2);
  EXPECT_EQ(match["column"], 5);
  EXPECT_EQ(match["text"], "Two words");
}

TEST(Search, NothingAndNotEverythingAreDifferentAnswers) {
  TestSandbox sandbox;
  sandbox.Script("echo x > f");
  Outcome outcome = Cubby({"grep", sandbox.id(), kWork, "absent"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "");
  outcome = Cubby({"glob", "--max-results", "0", sandbox.id(), kWork, "*"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("incomplete"));
  outcome = Cubby({"grep", sandbox.id(), kWork, "a(?=b)"});
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.err, HasSubstr("look-ahead"));
  outcome = Cubby({"grep", sandbox.id(), "/missing", "x"});
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.err, HasSubstr("/missing"));
}

TEST(Search, WatchTellsWhatChanges) {
  TestSandbox sandbox;
  Background watch({"watch", "-v", "--count", "1", "--json", sandbox.id()});
  // It says on standard error when all is watched; until then changes are not seen.
  const auto changed = [&] {
    sandbox.Script("touch seen");
    return watch.AwaitOutput("\"kind\"", absl::Milliseconds(200));
  };
  EXPECT_TRUE(Eventually(changed));
  EXPECT_THAT(watch.out(), HasSubstr("workspace/seen"));
  EXPECT_EQ(watch.Wait(), 0);
}

}  // namespace
}  // namespace cubby::e2e
