#include "cubby/search/ignore_rules.h"

#include <set>

#include "gtest/gtest.h"

namespace cubby::search {
namespace {

// F-1, with the reference's verified examples.
TEST(IgnoreRules, NamesAreMatchedWholeAndCaseMatters) {
  const IgnoreRules rules;
  for (const char* ignored :
       {".git", "node_modules", ".log", "a.log", "~", "x~", "x.cache", ".egg-info", "pkg.egg-info",
        ".upload-1.part", ".upload-.part", "build", "env", "a.b.tmp", "a\nb.log"}) {
    EXPECT_TRUE(rules.Matches(ignored)) << ignored;
  }
  for (const char* kept :
       {"a.LOG", "Env", ".env.local", "build2", "cache", "a.tmp.txt", ".upload-note.txt", "git", "",
        "log", ".upload-x.part2", ".upload-part"}) {
    EXPECT_FALSE(rules.Matches(kept)) << kept;
  }
}

TEST(IgnoreRules, ThereAreFiftyDifferentNamesAndEachMatchesItself) {
  const IgnoreRules rules;
  std::set<absl::string_view> names;
  for (absl::string_view name : IgnoreRules::DefaultNames()) {
    names.insert(name);
    EXPECT_TRUE(rules.Matches(name)) << name;
  }
  EXPECT_EQ(names.size(), 50u);
}

TEST(IgnoreRules, ExtraRulesAddToTheDefaults) {
  const std::vector<std::string> extra = {"secret", "*.min.*", "tmp*", "a*b*c"};
  const IgnoreRules rules(extra);
  for (const char* ignored : {"secret", "x.min.js", ".min.", "tmp", "tmpfile", "abc", "a-b-b-c",
                              "abcabc", "node_modules"}) {
    EXPECT_TRUE(rules.Matches(ignored)) << ignored;
  }
  for (const char* kept : {"secrets", "x.min", "atmp", "ac", "acb", "abcd"}) {
    EXPECT_FALSE(rules.Matches(kept)) << kept;
  }
}

}  // namespace
}  // namespace cubby::search
