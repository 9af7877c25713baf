#include "cubby/search/glob_pattern.h"

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cubby/base/deadline.h"
#include "cubby/search/glob_matcher.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby::search {
namespace {

bool Matches(absl::string_view pattern, absl::string_view path,
             GlobRules rules = GlobRules::kRecursive) {
  absl::StatusOr<GlobPattern> compiled = GlobPattern::Compile(pattern, rules);
  EXPECT_TRUE(compiled.ok()) << pattern << ": " << compiled.status();
  return compiled.ok() && GlobMatcher(*compiled).Matches(path);
}

struct Row {
  const char* pattern;
  std::vector<const char*> match;
  std::vector<const char*> no_match;
};

void CheckTable(const std::vector<Row>& rows, GlobRules rules) {
  for (const Row& row : rows) {
    for (const char* path : row.match) {
      EXPECT_TRUE(Matches(row.pattern, path, rules)) << row.pattern << " ? " << path;
    }
    for (const char* path : row.no_match) {
      EXPECT_FALSE(Matches(row.pattern, path, rules)) << row.pattern << " ? " << path;
    }
  }
}

// The verified table of section 4.2, F-10 to F-13.
TEST(CompatGlob, GivesTheVerifiedResultsOfTheReference) {
  CheckTable(
      {
          {"*.py", {"a/b/c.py"}, {}},
          {"**/*.py", {"a.py"}, {}},
          {"src/*.py", {"x/src/a.py"}, {}},
          {"src/**/*.py", {"src/b/c.py", "x/src/b/c.py"}, {"src/c.py", "src/a/b/c.py"}},
          {"**/src/*.py", {"src/a.py"}, {}},
          {"**", {"a/b"}, {}},
          {"**/", {"a", "a/b", "x/y/z.txt"}, {}},
          {"**/*", {"a"}, {}},
          {"src/**", {"src/a", "a/src/b"}, {"src/a/b"}},
          {"**/**/*.py", {}, {"a.py"}},
          {"/abs/*.py", {}, {"abs/a.py"}},
          {"/", {}, {"a"}},
          {"foo/", {"foo"}, {}},
          {"./a.py", {"a.py"}, {}},
          {"*", {"a/b/.hid"}, {}},
          {"a//b.py", {"a/b.py"}, {}},
          {"[", {"["}, {}},
          {"*.txt", {"new\nline.txt"}, {}},
          {"*.PY", {}, {"a.py"}},
          {"*.{js,ts}", {"a.{js,ts}"}, {"a.js"}},
          {"[!a].py", {"b.py"}, {"a.py"}},
          {"../a.py", {"../a.py"}, {"a.py"}},
          {"a*b", {"ab", "axxb"}, {"a/b"}},
      },
      GlobRules::kCompat);
}

// F-12 beyond the table; checked against CPython's fnmatch.translate.
TEST(CompatGlob, ClassesAreThoseOfTheReference) {
  CheckTable(
      {
          {"[]a]", {"]", "a"}, {"b"}},
          {"[!]a]", {"b", "["}, {"]", "a"}},
          {"[^a]", {"^", "a"}, {"b"}},
          {"[z-a]", {}, {"a", "z", "-", "m"}},
          {"[!z-a]", {"a", "-"}, {}},
          {"[z-ab]", {"b"}, {"z", "a", "-"}},
          {"[a-]", {"a", "-"}, {"b"}},
          {"[-a]", {"a", "-"}, {"b"}},
          {"[--a]", {"-", "a", "A"}, {"b", "+"}},
          {"[a-c-e]", {"b", "-", "e"}, {"d"}},
          {"[!]", {"[!]"}, {"!", "a"}},
          {"[a/b]", {"[a/b]", "x/[a/b]"}, {"a", "b"}},
          {"a\\*", {"a\\", "a\\b"}, {"a*"}},
          {"\\[a]", {"\\a"}, {"[a]"}},
          {"?", {"a", "\xC3\xA9", "\xFF", "x/a"}, {"ab"}},
          {"a?c/d", {"abc/d", "z/abc/d"}, {"a/c/d", "abc/e"}},
          {"[\xC3\xA9]", {"\xC3\xA9"}, {"\xC3"}},
      },
      GlobRules::kCompat);
}

TEST(CompatGlob, AnEmptyPatternIsRefused) {
  for (const char* pattern : {"", ".", "./.", "./"}) {
    EXPECT_EQ(GlobPattern::Compile(pattern, GlobRules::kCompat).status().code(),
              absl::StatusCode::kInvalidArgument)
        << pattern;
  }
}

TEST(RecursiveGlob, WithoutASlashAnyDepthMatches) {
  CheckTable(
      {
          {"*.py", {"a.py", "a/b.py", "a/b/c.py", ".py", ".hid/.x.py"}, {"a.pyc", "py", "a.PY"}},
          {"a", {"a", "x/a", "x/y/a"}, {"ab", "a/b", "ba", "x/ab"}},
          {"*", {"a", "a/b", ".hid", "a/.hid", "new\nline", "a\xFF"}, {}},
          {"a*", {"a", "ab", "x/abc", "a.b.c"}, {"ba", "a/b"}},
          {"*a*", {"a", "bab", "x/bab", "xa"}, {"b", "a/b"}},
          {"a?c",
           {"abc", "x/abc", "a.c",
            "a\xC3\xA9"
            "c"},
           {"ac", "abbc", "a/c"}},
          {"???", {"abc", "x/abc", "\xC3\xA9\xE2\x82\xACx", "\xFF\xFE\xFD"}, {"ab", "abcd"}},
          {"*.tar.gz", {"x.tar.gz", "a/b.c.tar.gz"}, {"x.gz", "x.tar.gz.sig"}},
          {"README*", {"README", "README.md", "doc/README.txt"}, {"readme", "XREADME"}},
          {"Makefile", {"Makefile", "a/b/c/Makefile"}, {"Makefile.am", "aMakefile"}},
          {"-rf", {"-rf", "x/-rf"}, {"rf"}},
          {"a b", {"a b"}, {"ab", "a  b"}},
          {"a ", {"a "}, {"a"}},
          {"#x", {"#x"}, {"x"}},
          {"a**b", {"ab", "axb", "x/axxb"}, {"a/b", "a/x/b"}},
          {"***", {"a", "a/b"}, {}},
      },
      GlobRules::kRecursive);
}

TEST(RecursiveGlob, WithASlashThePatternIsAnchoredAtTheRoot) {
  CheckTable(
      {
          {"/a", {"a"}, {"x/a", "ab"}},
          {"/*.py", {"a.py"}, {"x/a.py"}},
          {"src/*.py", {"src/a.py", "src/.py"}, {"x/src/a.py", "src/b/a.py", "a.py"}},
          {"a/b", {"a/b"}, {"x/a/b", "a/b/c", "b"}},
          {"./a", {"a"}, {"x/a"}},
          {"./src/*", {"src/a"}, {"src/a/b", "x/src/a"}},
          {"a//b", {"a/b"}, {"a", "b"}},
          {"a/./b", {"a/b"}, {"a/x/b"}},
          {"*/a", {"x/a"}, {"a", "x/y/a"}},
          {"*/*", {"x/a", "x/.a"}, {"a", "x/y/a"}},
          {"src/?/x", {"src/a/x"}, {"src/x", "src/ab/x"}},
      },
      GlobRules::kRecursive);
}

TEST(RecursiveGlob, TwoStarsAreAnyNumberOfFolders) {
  CheckTable(
      {
          {"**", {"a", "a/b", "a/b/c", ".a"}, {}},
          {"**/*", {"a", "a/b", "a/b/c"}, {}},
          {"**/*.py", {"a.py", "x/a.py", "x/y/z/a.py"}, {"a.pyc", "a.py/b"}},
          {"**/a", {"a", "x/a", "x/y/a"}, {"xa", "a/x"}},
          {"/**/a", {"a", "x/a", "x/y/a"}, {"xa"}},
          {"src/**", {"src/a", "src/a/b", "src/a/b/c"}, {"src", "x/src/a", "srcx/a"}},
          {"src/**/*.py",
           {"src/a.py", "src/x/a.py", "src/x/y/a.py"},
           {"a.py", "x/src/a.py", "srca.py", "src/a.pyc"}},
          {"a/**/b", {"a/b", "a/x/b", "a/x/y/b"}, {"ab", "a/xb", "x/a/b", "a/b/c"}},
          {"**/a/**", {"a/x", "q/a/x", "q/r/a/x/y"}, {"a", "q/a", "b/x"}},
          {"**/a/**/b", {"a/b", "x/a/b", "x/a/y/b", "a/y/z/b"}, {"b", "a/c", "ab"}},
          {"**/**/a", {"a", "x/a", "x/y/a"}, {"b"}},
          {"a/**/**/b", {"a/b", "a/x/b", "a/x/y/b"}, {"ab"}},
          {"a/**/**", {"a/b", "a/b/c"}, {"a", "b/a"}},
          {"**/a*/**/*.c", {"a/x.c", "ab/x.c", "q/abc/r/s/x.c"}, {"x.c", "b/x.c"}},
          {"x**/a", {"x/a", "xy/a"}, {"x/y/a", "q/x/a"}},
          {"**x/a", {"x/a", "yx/a"}, {"y/x/a", "a"}},
      },
      GlobRules::kRecursive);
}

TEST(RecursiveGlob, BracesAreAlternatives) {
  CheckTable(
      {
          {"*.{js,ts}", {"a.js", "x/a.ts"}, {"a.jsx", "a.{js,ts}", "a."}},
          {"*.{js,ts}{,x}", {"a.js", "a.tsx", "a.jsx"}, {"a.x", "a.jsxx"}},
          {"{a,b}", {"a", "x/b"}, {"ab", "c"}},
          {"{a,b}/c", {"a/c", "b/c"}, {"c", "ab/c", "x/a/c"}},
          {"{src,test}/**/*.{c,h}", {"src/a.c", "test/x/y/a.h"}, {"lib/a.c", "src/a.o"}},
          {"{a,{b,c}d}", {"a", "bd", "cd"}, {"b", "ad", "abd"}},
          {"{{{a}}}", {"a"}, {"b"}},
          {"a{,b}c", {"ac", "abc"}, {"a", "abbc"}},
          {"{,a}b", {"b", "ab"}, {"aab"}},
          {"{a,}", {"a"}, {"b"}},
          {"{src/a,b}.c", {"src/a.c", "b.c"}, {"a.c", "x/b.c"}},
          {"{a/,b/}**/c", {"a/c", "b/x/c"}, {"c", "x/a/c"}},
          {"{**/x,y/z}.c", {"x.c", "q/x.c", "y/z.c"}, {"z.c", "q/y/z.c"}},
          {"a/{**}/b", {"a/x/b", "a/x/y/b"}, {"a/b", "ab"}},
          {"a/{**,c}", {"a/c", "a/x/y"}, {"a"}},
          {"{*,?}.x", {"a.x", "abc.x"}, {"a.y"}},
          {"{[ab],c}", {"a", "b", "c"}, {"d"}},
          {"{[,],x}", {",", "x"}, {"[", "]"}},
          {"{\\,,x}", {",", "x"}, {"\\"}},
          {"{\\},x}", {"}", "x"}, {"\\"}},
          {"{1..3}", {"1..3"}, {"2"}},
          {"a,b", {"a,b"}, {"a", "b"}},
      },
      GlobRules::kRecursive);
}

TEST(RecursiveGlob, ClassesAndEscapes) {
  CheckTable(
      {
          {"[abc]", {"a", "x/c"}, {"d", "ab", ""}},
          {"[a-c]x", {"ax", "cx"}, {"dx", "-x"}},
          {"[!a]", {"b", "\xC3\xA9", "."}, {"a", "bc"}},
          {"[^a]", {"b", "^"}, {"a"}},
          {"[a^]", {"a", "^"}, {"b"}},
          {"[]a]", {"]", "a"}, {"b"}},
          {"[!]a]", {"b"}, {"]", "a"}},
          {"[a-]", {"a", "-"}, {"b"}},
          {"[-a]", {"a", "-"}, {"b"}},
          {"[\\]]", {"]"}, {"\\"}},
          {"[\\a-\\c]", {"b"}, {"\\"}},
          {"[[:digit:]]*", {"1", "2x"}, {"x1"}},
          {"[![:alpha:]_]", {"1", "-"}, {"a", "_"}},
          {"[[:upper:][:digit:]]", {"A", "7"}, {"a"}},
          {"[a/b]c", {"ac", "bc"}, {"/c", "c"}},
          {"x[/]y", {}, {"x/y"}},
          {"x[!a]y", {"xby"}, {"x/y"}},
          {"[\xC3\xA0-\xC3\xBF]", {"\xC3\xA9"}, {"e", "\xC3"}},
          {"[*?]", {"*", "?"}, {"a"}},
          {"\\*", {"*"}, {"a", "\\*"}},
          {"\\?x", {"?x"}, {"ax"}},
          {"\\[a]", {"[a]"}, {"a"}},
          {"\\{a,b\\}", {"{a,b}"}, {"a", "b"}},
          {"\\!a", {"!a"}, {"a"}},
          {"a\\b", {"ab"}, {"a\\b"}},
          {"\\\\", {"\\"}, {"\\\\"}},
          {"a\\/b", {"a/b"}, {"x/a/b"}},
          {"\xFF*", {"\xFF", "\xFFx"}, {"x", "\xFE"}},
          {"app/[[]id]/page.tsx", {"app/[id]/page.tsx"}, {"app/i/page.tsx"}},
      },
      GlobRules::kRecursive);
}

TEST(RecursiveGlob, ATrailingSlashMeansFoldersOnly) {
  for (const char* pattern : {"foo/", "a/foo/", "**/", "a/**/", "foo//", "foo/."}) {
    EXPECT_TRUE(GlobPattern::Compile(pattern)->folders_only()) << pattern;
  }
  EXPECT_FALSE(GlobPattern::Compile("foo")->folders_only());
  CheckTable(
      {
          {"foo/", {"foo", "x/foo"}, {"foo/x"}},
          {"/foo/", {"foo"}, {"x/foo"}},
          {"a/foo/", {"a/foo"}, {"x/a/foo", "foo"}},
          {"**/", {"a", "a/b"}, {}},
          {"a/**/", {"a/b", "a/b/c"}, {"a"}},
      },
      GlobRules::kRecursive);
}

TEST(RecursiveGlob, WrongPatternsAreRefusedAndTheMessageSaysWhy) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "empty"},
      {"/", "root"},
      {".", "root"},
      {"./", "root"},
      {"a/../b", "`..`"},
      {"..", "`..`"},
      {"{../a,b}", "`..`"},
      {"!a", "leading `!`"},
      {"[a", "`[`"},
      {"[", "`[`"},
      {"[]", "`[`"},
      {"x[!]", "`[`"},
      {"{a", "`{`"},
      {"{a,{b}", "`{`"},
      {"a}", "`}`"},
      {"a\\", "backslash"},
      {"[z-a]", "reversed"},
      {"[[:nope:]]", "[:nope:]"},
      {std::string("a\0b", 3), "NUL"},
      {std::string(100000, 'a'), "65536"},
      {std::string(40, '{') + "a" + std::string(40, '}'), "nested"},
  };
  for (const auto& [pattern, word] : wrong) {
    const absl::Status status = GlobPattern::Compile(pattern).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << pattern.substr(0, 50);
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(word)) << pattern.substr(0, 50);
    EXPECT_LT(status.message().size(), 200u);
  }
}

TEST(RecursiveGlob, HostilePatternsCostNoMoreThanTheirLength) {
  std::string stars;
  for (int i = 0; i < 5000; ++i) stars += "*a";
  std::string braces;
  for (int i = 0; i < 5000; ++i) braces += "{a,b,*}";
  std::string folders;
  for (int i = 0; i < 5000; ++i) folders += "**/a/";
  std::string wide = "{";  // more characters than the cache has classes
  for (uint32_t i = 0; i < 9000; ++i) absl::StrAppend(&wide, i == 0 ? "" : ",", i);
  wide += "}";
  const std::string path = absl::StrCat(std::string(250, 'a'), "/", std::string(250, 'b'), "c");
  const absl::Duration start = MonotonicNow();
  EXPECT_FALSE(Matches(stars + "c", path));
  EXPECT_FALSE(Matches(braces + "z", path));
  EXPECT_FALSE(Matches(folders + "z", path));
  EXPECT_TRUE(Matches(wide, "x/8999"));
  EXPECT_FALSE(Matches(wide, "x/9001"));
  // Seconds would be far above the 10 million steps this takes; exponential would never end.
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(20));
}

TEST(RecursiveGlob, APatternOfTheGreatestSizeWorks) {
  std::string pattern = std::string(kMaxGlobBytes - 1, 'a') + "*";
  EXPECT_TRUE(Matches(pattern, std::string(kMaxGlobBytes, 'a')));
  EXPECT_FALSE(Matches(pattern, "a"));
}

TEST(GlobMatcher, FoldersThatCannotHoldAMatchAreKnown) {
  const auto below = [](absl::string_view pattern, absl::string_view folder,
                        absl::string_view name) {
    GlobMatcher matcher(*GlobPattern::Compile(pattern));
    matcher.EnterFolder(folder);
    return matcher.MayMatchBelow(name);
  };
  EXPECT_TRUE(below("src/*.py", "", "src"));
  EXPECT_FALSE(below("src/*.py", "", "lib"));
  EXPECT_FALSE(below("src/*.py", "src", "x"));
  EXPECT_TRUE(below("src/**/*.py", "src/a", "b"));
  EXPECT_FALSE(below("src/**/*.py", "lib", "src"));
  EXPECT_TRUE(below("*.py", "a/b", "c"));
  EXPECT_TRUE(below("{a,b/c}/d", "", "b"));
  EXPECT_FALSE(below("{a,b/c}/d", "b", "x"));
  EXPECT_FALSE(below("/a", "", "a"));
}

// More distinct characters than classes, and many states: the answers stay those of a fresh one.
TEST(GlobMatcher, AnEmptiedCacheChangesNoAnswer) {
  const GlobPattern pattern = *GlobPattern::Compile("**/*a???????????[bc]");
  GlobMatcher reused(pattern);
  std::mt19937 random(7);
  int matches = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string name(40, 'x');
    for (char& c : name) c = "abc"[random() % 3];
    reused.EnterFolder(i % 2 == 0 ? "" : "abc/bca");
    const bool expected = name[name.size() - 13] == 'a' && name.back() != 'a';
    ASSERT_EQ(reused.MatchesName(name), expected) << name;
    matches += expected ? 1 : 0;
  }
  EXPECT_GT(matches, 1000);
}

}  // namespace
}  // namespace cubby::search
