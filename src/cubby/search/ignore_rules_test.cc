#include "cubby/search/ignore_rules.h"

#include "gtest/gtest.h"

namespace cubby::search {
namespace {

// F-1, with the reference's verified examples.
TEST(IgnoreRules, NamesAreMatchedWholeAndCaseMatters) {
  const IgnoreRules rules;
  for (const char* ignored :
       {".git", "node_modules", ".log", "a.log", "~", "x~", "x.cache", ".egg-info", "pkg.egg-info",
        ".upload-1.part", ".upload-.part", "build", "env", "a.b.tmp"}) {
    EXPECT_TRUE(rules.Matches(ignored)) << ignored;
  }
  for (const char* kept : {"a.LOG", "Env", ".env.local", "build2", "cache", "a.tmp.txt",
                           ".upload-note.txt", "git", "", "log", ".upload-x.part2"}) {
    EXPECT_FALSE(rules.Matches(kept)) << kept;
  }
}

}  // namespace
}  // namespace cubby::search
