#include "cubby/search/line_pattern.h"

#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/base/deadline.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "re2/re2.h"

namespace cubby::search {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kInsensitive = PatternCase::kInsensitive;
constexpr auto kSensitive = PatternCase::kSensitive;

// "line:column+length" of the first match of each line.
std::vector<std::string> Lines(absl::string_view pattern, absl::string_view text,
                               PatternCase letter_case = kInsensitive,
                               PatternSyntax syntax = PatternSyntax::kRegex) {
  absl::StatusOr<LinePattern> compiled = LinePattern::Compile(pattern, syntax, letter_case);
  EXPECT_TRUE(compiled.ok()) << pattern << compiled.status();
  std::vector<std::string> found;
  if (!compiled.ok()) return found;
  LineScan scan;
  for (size_t from = 0; from < text.size();) {
    const auto match = compiled->Find(text, from, text.size(), &scan);
    if (!match.has_value()) break;
    const absl::string_view before = text.substr(0, match->begin);
    const size_t lf = before.rfind('\n');
    const size_t line = lf == absl::string_view::npos ? 0 : lf + 1;
    found.push_back(absl::StrCat(std::count(before.begin(), before.end(), '\n') + 1, ":",
                                 match->begin - line + 1, "+", match->end - match->begin));
    from = std::min(text.find('\n', match->begin), text.size()) + 1;
  }
  return found;
}

TEST(LinePattern, FindsTheFirstMatchOfEachLine) {
  EXPECT_THAT(Lines("b+", "abb\nx\nb b\n"), ElementsAre("1:2+2", "3:1+1"));
  EXPECT_THAT(Lines("^a", "a\nba\na"), ElementsAre("1:1+1", "3:1+1"));
  EXPECT_THAT(Lines("a$", "a\nab\nba"), ElementsAre("1:1+1", "3:2+1"));
  EXPECT_THAT(Lines("^$", "a\n\nb\n\n"), ElementsAre("2:1+0", "4:1+0"));
  EXPECT_THAT(Lines("\\bfoo\\b", "food\nfoo\na foo b"), ElementsAre("2:1+3", "3:3+3"));
  EXPECT_THAT(Lines("\\d+", "a\n12\n"), ElementsAre("2:1+2"));
  EXPECT_THAT(Lines("(?:abc)", "xabc"), ElementsAre("1:2+3"));
  EXPECT_THAT(Lines("\\Afoo", "foo\nxfoo\nfoo"), ElementsAre("1:1+3", "3:1+3"));
  EXPECT_THAT(Lines("foo\\z", "foo\nfoox\nfoo"), ElementsAre("1:1+3", "3:1+3"));
  EXPECT_THAT(Lines("a|b", "xb\nya\n"), ElementsAre("1:2+1", "2:2+1"));
}

TEST(LinePattern, AMatchNeverLeavesItsLine) {
  for (const char* pattern : {"a\\sb", "a[^x]b", "a\\Wb", "(?s)a.b", "a[\\s\\S]b"}) {
    EXPECT_THAT(Lines(pattern, "a\nb"), IsEmpty()) << pattern;
  }
  EXPECT_THAT(Lines("[^x]*", "ab\ncd"), ElementsAre("1:1+2", "2:1+2"));
}

TEST(LinePattern, AnEmptyMatchIsInALineAndNoLineFollowsTheLastLf) {
  EXPECT_THAT(Lines("", "a\nb\n"), ElementsAre("1:1+0", "2:1+0"));
  EXPECT_THAT(Lines("x*", "a\n"), ElementsAre("1:1+0"));
  EXPECT_THAT(Lines("$", "ab\n"), ElementsAre("1:3+0"));
  EXPECT_THAT(Lines("", "", kInsensitive), IsEmpty());
}

TEST(LinePattern, CaseFoldsByUnicode) {
  EXPECT_THAT(Lines("stra\xC3\x9F"
                    "e",
                    "STRA\xE1\xBA\x9E"
                    "E"),
              ElementsAre("1:1+8"));
  EXPECT_THAT(Lines("\xC3\x84pfel", "\xC3\xA4PFEL"), ElementsAre("1:1+6"));
  // The Kelvin sign and the long s are a k and an s: no shortcut may pass them by.
  EXPECT_THAT(Lines("kilo", "\xE2\x84\xAAilo"), ElementsAre("1:1+6"));
  EXPECT_THAT(Lines("misses",
                    "mi\xC5\xBF\xC5\xBF"
                    "es"),
              ElementsAre("1:1+8"));
  EXPECT_THAT(Lines("kilo", "KILO", kSensitive), IsEmpty());
  EXPECT_THAT(Lines("foo", "FOO\nfoo", kSensitive, PatternSyntax::kLiteral), ElementsAre("2:1+3"));
  EXPECT_THAT(Lines("f.o", "F.O fxo", kInsensitive, PatternSyntax::kLiteral), ElementsAre("1:1+3"));
}

// D-13.
TEST(LinePattern, ALiteralIsTakenAsItIs) {
  for (PatternCase letter_case : {kInsensitive, kSensitive}) {
    for (const char* literal : {"a.b", "[x]", "a+", "(", "\\d", "^$", " ", "*", "a\\Qb\\E"}) {
      EXPECT_EQ(
          Lines(literal, absl::StrCat("--", literal, "--"), letter_case, PatternSyntax::kLiteral)
              .size(),
          1u)
          << literal;
    }
    EXPECT_THAT(Lines("a.b", "axb", letter_case, PatternSyntax::kLiteral), IsEmpty());
  }
  EXPECT_THAT(Lines("\xFFq", "a\xFFq", kSensitive, PatternSyntax::kLiteral), ElementsAre("1:2+2"));
}

TEST(LinePattern, BytesThatAreNoUtf8AreCharactersOfTheText) {
  EXPECT_THAT(Lines("caf.!", "caf\xE9!"), ElementsAre("1:1+5"));
  EXPECT_THAT(Lines("a.+b",
                    "a\xFF\xFE\xC3"
                    "b"),
              ElementsAre("1:1+5"));
  EXPECT_THAT(Lines("x[^y]z", "x\x80z"), ElementsAre("1:1+3"));
}

TEST(LinePattern, UnsupportedSyntaxIsRefusedByName) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"foo(?=bar)", "look-ahead `(?=`"},
      {"foo(?!bar)", "negative look-ahead `(?!`"},
      {"(?<=a)b", "look-behind `(?<=`"},
      {"(?<!a)b", "negative look-behind `(?<!`"},
      {"(a)\\1", "back reference `\\1`"},
      {"(?P<x>a)(?P=x)", "back reference `(?P=`"},
      {"(a)\\k<x>", "back reference `\\k<`"},
      {"a++", "possessive repetition `++`"},
      {"a*+b", "possessive repetition `*+`"},
      {"a?+b", "possessive repetition `?+`"},
      {"a{2}+b", "possessive repetition `}+`"},
      {"(?>a)", "atomic group `(?>`"},
      {"(?(1)a|b)", "conditional `(?(`"},
      {"(?R)", "recursion `(?R`"},
      {"(?<n>a)", "group name without P"},
      {"(?#c)a", "comment"},
      {"a\\Z", "text end `\\Z`"},
      {"\\Ga", "last match position"},
      {"\\u0041", "code point"},
      {"a\\Cb", "single byte"},
      {"a\\nb", "newline"},
      {"a\nb", "newline"},
      {"a\\x0ab", "newline"},
      {"(", "missing"},
      {"a)", "unexpected )"},
      {"[a", "missing ]"},
      {"*a", "*"},
      {"a**", "**"},
      {"a{1001}", "repetition"},
      {"\\", "trailing"},
      {"[z-a]", "z-a"},
      {"\xFF", "UTF-8"},
  };
  for (const auto& [pattern, word] : wrong) {
    const absl::Status status =
        LinePattern::Compile(pattern, PatternSyntax::kRegex, kInsensitive).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << pattern;
    EXPECT_THAT(std::string(status.message()), HasSubstr(word)) << pattern;
  }
}

TEST(LinePattern, WhatOnlyLooksUnsupportedIsTaken) {
  for (const char* pattern : {"\\(?=", "[(?=]", "\\Q(?=\\E", "a+?", "a*?b??", "[\\n]x", "(?P<n>a)",
                              "(?i)a", "(?:a)", "a\\+\\+", "[a+]+", "a{2}?", "[[:alpha:]]+",
                              "[]a]+", "[^]\\]]", "\\\\1", "x\\p{Greek}", "}", "a]"}) {
    EXPECT_TRUE(LinePattern::Compile(pattern, PatternSyntax::kRegex, kInsensitive).ok())
        << pattern << LinePattern::Compile(pattern, PatternSyntax::kRegex, kInsensitive).status();
  }
}

TEST(LinePattern, HugePatternsAreRefused) {
  const std::string huge(100000, 'a');
  for (PatternSyntax syntax : {PatternSyntax::kRegex, PatternSyntax::kLiteral}) {
    const absl::Status status = LinePattern::Compile(huge, syntax, kInsensitive).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("65536"));
    EXPECT_LT(status.message().size(), 200u);
  }
  const std::string most(kMaxLinePatternBytes, 'a');
  EXPECT_EQ(Lines(most, most, kSensitive, PatternSyntax::kLiteral).size(), 1u);
  for (PatternSyntax syntax : {PatternSyntax::kRegex, PatternSyntax::kLiteral}) {
    const absl::Status status = LinePattern::Compile(most, syntax, kInsensitive).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("too complex"));
  }
  EXPECT_EQ(LinePattern::Compile("((a{100}){100}){100}", PatternSyntax::kRegex, kSensitive)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(
          LinePattern::Compile("a\nb", PatternSyntax::kLiteral, kSensitive).status().message()),
      HasSubstr("newline"));
}

// Exponential in an engine that backtracks.
TEST(LinePattern, NestedRepetitionTakesLinearTime) {
  const std::string text = std::string(100000, 'a') + "!";
  const absl::Duration start = MonotonicNow();
  EXPECT_THAT(Lines("^(a+)+$", text), IsEmpty());
  EXPECT_THAT(Lines("(a|aa)+$", text), IsEmpty());
  EXPECT_THAT(Lines("(.*)(.*)(.*)(.*)x", text), IsEmpty());
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(10));
}

// Shortcuts give what the engine alone gives, line by line.
TEST(LinePattern, AgreesWithTheEngineOnSingleLines) {
  const char* patterns[] = {"abc",     "ab.c",     "(abc|abd)x",     "a(bc)?d",
                            "[ab]cd+", "abc|dba",  "(?i)aB",         "x*abcd$",
                            "^ab.*dc", "ab{2,3}c", "(ab|cd)(ba|dc)", "\\bab",
                            "a[^b]cd", "(abc)*d",  "abca|abcb"};
  std::mt19937 random(5);
  size_t found = 0;
  for (const char* pattern : patterns) {
    for (PatternCase letter_case : {kInsensitive, kSensitive}) {
      re2::RE2::Options options;
      options.set_case_sensitive(letter_case == kSensitive);
      const re2::RE2 engine(pattern, options);
      std::string text;
      for (int i = 0; i < 20000; ++i) text += "abcdABCDxabcd\n"[random() % 14];
      std::vector<std::string> expected;
      int number = 0;
      for (absl::string_view line : absl::StrSplit(text, '\n')) {
        ++number;
        re2::StringPiece match;
        if (!engine.Match(re2::StringPiece(line.data(), line.size()), 0, line.size(),
                          re2::RE2::UNANCHORED, &match, 1)) {
          continue;
        }
        expected.push_back(
            absl::StrCat(number, ":", match.data() - line.data() + 1, "+", match.size()));
      }
      EXPECT_EQ(Lines(pattern, text, letter_case), expected) << pattern;
      found += expected.size();
    }
  }
  EXPECT_GT(found, 1000u);
}

}  // namespace
}  // namespace cubby::search
