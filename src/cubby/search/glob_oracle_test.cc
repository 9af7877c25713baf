// Random patterns and paths, matched by the automaton and by trying everything.
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cubby/search/glob_matcher.h"
#include "cubby/search/glob_pattern.h"
#include "gtest/gtest.h"

namespace cubby::search {
namespace {

// The oracle: braces are written out, then segments are matched by trying everything.
std::vector<std::string> WriteOut(const std::string& pattern) {
  const size_t open = pattern.find('{');
  if (open == std::string::npos) return {pattern};
  int depth = 0;
  std::vector<std::string> branches(1);
  size_t i = open;
  for (; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '}' && --depth == 0) break;
    if (c == ',' && depth == 1) {
      branches.emplace_back();
    } else if (c != '{' || depth > 0) {
      branches.back() += c;
    }
    if (c == '{') ++depth;
  }
  std::vector<std::string> result;
  for (const std::string& branch : branches) {
    for (std::string& whole : WriteOut(pattern.substr(0, open) + branch + pattern.substr(i + 1))) {
      result.push_back(std::move(whole));
    }
  }
  return result;
}

bool SegmentMatches(absl::string_view pattern, absl::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    return SegmentMatches(pattern.substr(1), text) ||
           (!text.empty() && SegmentMatches(pattern, text.substr(1)));
  }
  if (text.empty()) return false;
  if (pattern[0] == '[') {  // the generator writes only [a-b] and [!a-b]
    const bool negated = pattern[1] == '!';
    const size_t from = negated ? 2 : 1;
    const bool inside = pattern[from] <= text[0] && text[0] <= pattern[from + 2];
    return inside != negated && SegmentMatches(pattern.substr(from + 4), text.substr(1));
  }
  return (pattern[0] == '?' || pattern[0] == text[0]) &&
         SegmentMatches(pattern.substr(1), text.substr(1));
}

using Segments = std::vector<std::string>;
bool SegmentsMatch(const Segments& pattern, size_t p, const Segments& path, size_t s) {
  if (p == pattern.size()) return s == path.size();
  if (pattern[p] == "\1") {
    if (p + 1 == pattern.size()) return s < path.size();
    for (size_t skip = s; skip <= path.size(); ++skip) {
      if (SegmentsMatch(pattern, p + 1, path, skip)) return true;
    }
    return false;
  }
  return s < path.size() && SegmentMatches(pattern[p], path[s]) &&
         SegmentsMatch(pattern, p + 1, path, s + 1);
}

bool OracleMatches(const std::string& pattern, const std::string& path) {
  const bool anchored = pattern.find('/') != std::string::npos;
  const Segments path_segments = absl::StrSplit(path, '/');
  // Stars that meet only when braces are written out are no `**`.
  const std::string marked = absl::StrReplaceAll(pattern, {{"**", "\1"}});
  for (const std::string& plain : WriteOut(marked)) {
    Segments segments = absl::StrSplit(plain, '/', absl::SkipEmpty());
    if (!anchored) segments.insert(segments.begin(), "\1");
    if (SegmentsMatch(segments, 0, path_segments, 0)) return true;
  }
  return false;
}

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}
  uint32_t Below(uint32_t n) { return random_() % n; }
  std::string Path() {
    Segments segments(1 + Below(4));
    for (std::string& segment : segments) {
      for (uint32_t i = 1 + Below(3); i > 0; --i) segment += "abc"[Below(3)];
    }
    return absl::StrJoin(segments, "/");
  }
  std::string Piece(int depth) {
    switch (Below(depth < 2 ? 12 : 10)) {
      case 0:
      case 1:
      case 2:
        return "a";
      case 3:
        return "b";
      case 4:
        return "c";
      case 5:
      case 6:
        return "*";
      case 7:
        return "?";
      case 8:
        return "[a-b]";
      case 9:
        return "[!b-c]";
      default: {
        // No branch begins or ends a segment of its own, where writing braces out and `**` differ.
        std::string braces = "{";
        for (uint32_t i = 1 + Below(3); i > 0; --i) {
          std::string branch = Segment(depth + 1);
          if (Below(4) == 0) branch += "/" + Segment(depth + 1);
          absl::StrAppend(&braces, branch, i > 1 ? "," : "");
        }
        return braces + "}";
      }
    }
  }
  std::string Segment(int depth) {
    std::string segment;
    for (uint32_t i = 1 + Below(3); i > 0; --i) segment += Piece(depth);
    // Two stars that meet would be another pattern.
    for (size_t at; (at = segment.find("**")) != std::string::npos;) segment.erase(at, 1);
    return segment;
  }
  std::string Pattern() {
    Segments segments(1 + Below(4));
    for (std::string& segment : segments) segment = Below(4) == 0 ? "**" : Segment(0);
    return absl::StrJoin(segments, "/");
  }

 private:
  std::mt19937 random_;
};

TEST(RecursiveGlob, AgreesWithAnExhaustiveOracle) {
  Generator generator(20240601);
  int matches = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string pattern = generator.Pattern();
    absl::StatusOr<GlobPattern> compiled = GlobPattern::Compile(pattern);
    ASSERT_TRUE(compiled.ok()) << pattern << compiled.status();
    GlobMatcher matcher(*compiled);
    for (int j = 0; j < 30; ++j) {
      const std::string path = generator.Path();
      const bool expected = OracleMatches(pattern, path);
      ASSERT_EQ(matcher.Matches(path), expected) << pattern << " ? " << path;
      matches += expected ? 1 : 0;
      // Pruning must never hide a match: every folder above one may hold it.
      for (size_t slash = path.find('/'); expected && slash != std::string::npos;
           slash = path.find('/', slash + 1)) {
        const size_t parent = path.rfind('/', slash - 1);
        const size_t name = slash == 0 || parent == std::string::npos ? 0 : parent + 1;
        matcher.EnterFolder(name == 0 ? "" : path.substr(0, name - 1));
        ASSERT_TRUE(matcher.MayMatchBelow(path.substr(name, slash - name))) << pattern << path;
      }
    }
  }
  EXPECT_GT(matches, 5000);
}

}  // namespace
}  // namespace cubby::search
