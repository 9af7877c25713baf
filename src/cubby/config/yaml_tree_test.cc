// What a stranger's file can and cannot do.
#include "cubby/config/yaml_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cubby/status.h"

namespace cubby::config {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Kind = YamlNode::Kind;

std::string Repeat(absl::string_view text, size_t times) {
  std::string all;
  while (times-- > 0) absl::StrAppend(&all, text);
  return all;
}

std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<YamlRef> tree = ParseYaml("f", text);
  EXPECT_EQ(tree.status().code(), absl::StatusCode::kInvalidArgument) << text.substr(0, 80);
  return std::string(tree.status().message());
}

TEST(YamlTree, KeepsLinesOrderAndKinds) {
  const auto tree = ParseYaml("f", "# first\nb: 1\na:\n  - x\n  -\nc: {d: '~'}\n");
  ASSERT_TRUE(tree.ok()) << tree.status();
  const YamlNode& root = **tree;
  ASSERT_EQ(root.kind, Kind::kMap);
  ASSERT_EQ(root.entries.size(), 3U);
  EXPECT_EQ(root.entries[0].key, "b");
  EXPECT_EQ(root.entries[0].line, 2);
  EXPECT_EQ(root.entries[0].value->text, "1");
  ASSERT_EQ(root.entries[1].value->kind, Kind::kList);
  EXPECT_EQ(root.entries[1].value->items[0]->line, 4);
  EXPECT_EQ(root.entries[1].value->items[1]->kind, Kind::kNull);
  EXPECT_EQ(root.entries[2].value->entries[0].value->kind, Kind::kText) << "quoted";
}

TEST(YamlTree, AnEmptyFileIsNothing) {
  for (const char* text : {"", "\n", "# only words\n", "---\n", "~"}) {
    const auto tree = ParseYaml("f", text);
    ASSERT_TRUE(tree.ok()) << tree.status();
    EXPECT_EQ((*tree)->kind, Kind::kNull);
  }
}

TEST(YamlTree, SharesWhatAliasesName) {
  const auto tree = ParseYaml("f", "a: &x [1]\nb: *x\n");
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ((*tree)->entries[0].value, (*tree)->entries[1].value);
}

TEST(YamlTree, MergesMapsUnderTheirOwnKeys) {
  const auto tree =
      ParseYaml("f", "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc:\n  <<: [*a, *b]\n  x: 9\n");
  ASSERT_TRUE(tree.ok()) << tree.status();
  std::string all;
  for (const YamlEntry& entry : (*tree)->entries[2].value->entries) {
    absl::StrAppend(&all, entry.key, entry.value->text, " ");
  }
  EXPECT_EQ(all, "x9 y2 z4 ");
  EXPECT_THAT(ErrorOf("a:\n  <<: 5\n"), HasSubstr("f:2: << takes maps"));
}

TEST(YamlTree, ReportsAKeyThatIsGivenTwice) {
  const auto tree = ParseYaml("f", "a: 1\nb: 2\na: 3\n");
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ((*tree)->duplicate, "a");
  EXPECT_EQ((*tree)->duplicate_line, 3);
}

TEST(YamlTree, SaysWhereTheTextIsNotYaml) {
  EXPECT_THAT(ErrorOf("a: 1\nb: [1, 2\nc: }\n"), AnyOf(StartsWith("f:2: "), StartsWith("f:3: ")));
  EXPECT_THAT(ErrorOf("a: *nobody\n"), StartsWith("f:1: not YAML"));
  EXPECT_THAT(ErrorOf("a: 1\n---\nb: 2\n"), HasSubstr("a second document"));
}

TEST(YamlTree, RefusesAnAliasInsideOfItself) {
  EXPECT_THAT(ErrorOf("a: &a [1, *a]\n"), HasSubstr("f:1: an alias inside itself"));
  EXPECT_THAT(ErrorOf("a: &a\n  b: {<<: *a}\n"), HasSubstr("an alias inside itself"));
}

TEST(YamlTree, RefusesABombOfAliases) {
  std::string bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 20; ++i) {
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [", Repeat(absl::StrCat("*a", i - 1, ","), 9),
                    "]\n");
  }
  EXPECT_THAT(ErrorOf(bomb), HasSubstr("aliases repeat more than 8 MiB"));
  const std::string text =
      absl::StrCat("a: &a ", std::string(500000, 'x'), "\nb: [", Repeat("*a,", 100), "]\n");
  EXPECT_THAT(ErrorOf(text), HasSubstr("f:2: aliases repeat more than 8 MiB"));
}

TEST(YamlTree, RefusesDeepNestingAlsoThroughAliases) {
  EXPECT_TRUE(ParseYaml("f", Repeat("[", 60) + Repeat("]", 60)).ok());
  EXPECT_THAT(ErrorOf(Repeat("[", 70) + Repeat("]", 70)), HasSubstr("nested deeper than 64"));
  std::string chain = "a0: &a0 []\n";
  for (int i = 1; i < 100; ++i) absl::StrAppend(&chain, "a", i, ": &a", i, " [*a", i - 1, "]\n");
  EXPECT_THAT(ErrorOf(chain), HasSubstr("nested deeper than 64"));
}

// A file of the largest size, of whatever costs a reader most. They end, and with an answer.
TEST(YamlTree, EndsOnAFileThatIsFullOfOneSign) {
  for (absl::string_view sign :
       {"[",   "{",     "- ",   "? ",  ": ",   "&a ",  "*a ",  "!", "'",  "\"",
        "|\n", "a: ",   "a: [", "[a,", "{a: ", "%",    "\t",   "]", "\\", "---\n",
        "-\n", "? -\n", "\n ",  ",",   "#",    "<<: ", "\xff", "@"}) {
    const auto tree = ParseYaml("f", Repeat(sign, kMaxFileBytes / sign.size()));
    EXPECT_TRUE(tree.ok() || absl::StartsWith(tree.status().message(), "f:")) << sign;
  }
}

TEST(YamlTree, AnErrorHoldsNoControlCharacters) {
  const std::string error = ErrorOf("a: \"\\\x1b\"\n");
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace cubby::config
