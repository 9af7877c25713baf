#include "cubby/search/grep_search.h"

#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "cubby/search/testing/test_tree.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby::search {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Found {
  std::vector<GrepMatch> matches;
  Summary summary;

  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> result;
    for (const GrepMatch& m : matches) {
      result.push_back(absl::StrCat(m.path, ":", m.line, ":", m.column, ":", m.text));
    }
    return result;
  }
};

Found Grep(const SearchRoot& root, absl::string_view pattern, const GrepOptions& options = {},
           PatternSyntax syntax = PatternSyntax::kRegex) {
  const LinePattern compiled = *LinePattern::Compile(pattern, syntax, PatternCase::kInsensitive);
  Found found;
  absl::StatusOr<Summary> summary =
      GrepSearch(root, compiled, options, [&found](absl::Span<GrepMatch> batch) {
        for (GrepMatch& match : batch) found.matches.push_back(std::move(match));
        return true;
      });
  EXPECT_TRUE(summary.ok()) << summary.status();
  found.summary = *std::move(summary);
  EXPECT_EQ(found.summary.results, found.matches.size());
  return found;
}

TEST(GrepSearch, GivesMatchesInPathAndLineOrder) {
  TestTree tree;
  tree.File("b.txt", "foo\nbar\nxfoo");
  tree.File("a/z", "no\nFOO\n");
  tree.File("a-", "foo");
  EXPECT_THAT(
      Grep(tree.Root(), "foo").lines(),
      ElementsAre("/r/a/z:2:1:FOO", "/r/a-:1:1:foo", "/r/b.txt:1:1:foo", "/r/b.txt:3:2:xfoo"));
}

TEST(GrepSearch, TheGlobSelectsByPathBelowTheRoot) {
  TestTree tree;
  for (const char* f : {"src/a.js", "vendor/src/a.js", "src/b/a.js", "src/a.ts"}) {
    tree.File(f, "x");
  }
  const auto paths = [&](const char* glob) {
    return Grep(tree.Root(), "x", {.glob = *GlobPattern::Compile(glob)}).lines();
  };
  EXPECT_THAT(paths("src/*.js"), ElementsAre("/r/src/a.js:1:1:x"));
  EXPECT_EQ(paths("*.js").size(), 3u);
  EXPECT_EQ(GrepSearch(tree.Root(),
                       *LinePattern::Compile("x", PatternSyntax::kLiteral, PatternCase::kSensitive),
                       {.glob = *GlobPattern::Compile("src/")},
                       [](absl::Span<GrepMatch>) { return true; })
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

// D-7.
TEST(GrepSearch, ARootThatIsAFileIsSearchedWhateverItsName) {
  TestTree tree;
  tree.File("server.log", "error\n");
  tree.Link("link", "server.log");
  const IgnoreRules rules;
  const GrepOptions options{.walk = {.ignore = &rules}};
  EXPECT_THAT(Grep(tree.Root("server.log"), "error", options).lines(), ElementsAre("/r:1:1:error"));
  EXPECT_THAT(Grep(tree.Root("link"), "error", options).lines(), ElementsAre("/r:1:1:error"));
  EXPECT_THAT(Grep(tree.Root(), "error", options).lines(), IsEmpty());
  // C-83: by its own name only.
  EXPECT_EQ(
      Grep(tree.Root("server.log"), "error", {.glob = *GlobPattern::Compile("r")}).matches.size(),
      1u);
  EXPECT_THAT(
      Grep(tree.Root("server.log"), "error", {.glob = *GlobPattern::Compile("*.c")}).lines(),
      IsEmpty());
}

TEST(GrepSearch, TruncatedMeansThatOneMoreExists) {
  TestTree tree;
  tree.File("a", "x\nx\nx\n");
  tree.File("b", "x\nx\n");
  for (uint32_t threads : {1u, 3u}) {
    const auto truncation = [&](const char* pattern, uint64_t limit) {
      const Found found = Grep(tree.Root(), pattern, {.max_results = limit, .threads = threads});
      EXPECT_EQ(found.matches.size(), std::min<uint64_t>(limit, *pattern == 'x' ? 5 : 0));
      return found.summary.truncation;
    };
    EXPECT_EQ(truncation("x", 6), Truncation::kNone);
    EXPECT_EQ(truncation("x", 5), Truncation::kNone) << "exactly full is complete";
    EXPECT_EQ(truncation("x", 4), Truncation::kLimit);
    EXPECT_EQ(truncation("x", 3), Truncation::kLimit);
    EXPECT_EQ(truncation("x", 2), Truncation::kLimit) << "one file has more than the limit";
    EXPECT_EQ(truncation("x", 0), Truncation::kLimit);
    EXPECT_EQ(truncation("y", 0), Truncation::kNone);
  }
}

TEST(GrepSearch, WhatIsSkippedIsCountedByReason) {
  TestTree tree;
  tree.File("binary", absl::string_view("x\0x", 3));
  tree.File("edge-in", std::string(8191, ' ') + std::string("\0x", 2));
  tree.File("edge-out", std::string(8192, ' ') + std::string("\0\nx", 3));
  tree.File("exact", std::string(999'999, ' ') + "x");
  tree.File("large", std::string(1'000'000, ' ') + "x");
  tree.Fifo("fifo");
  tree.Link("link", "exact");
  ASSERT_EQ(mknod(tree.Path("device").c_str(), S_IFCHR | 0666, makedev(1, 5)), 0);  // /dev/zero
  const unique_fd socket_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX};
  ASSERT_LT(tree.Path("socket").size(), sizeof(address.sun_path));
  strcpy(address.sun_path, tree.Path("socket").c_str());
  ASSERT_EQ(bind(socket_fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  for (uint32_t threads : {1u, 2u}) {
    const Found found = Grep(tree.Root(), "x", {.threads = threads});
    std::vector<std::string> paths;
    for (const GrepMatch& match : found.matches) paths.push_back(match.path);
    EXPECT_THAT(paths, ElementsAre("/r/edge-out", "/r/exact"));
    EXPECT_EQ(found.summary.skipped.binary, 2u);
    EXPECT_EQ(found.summary.skipped.too_large, 1u);
    EXPECT_EQ(found.summary.skipped.special, 3u);
    EXPECT_EQ(found.summary.skipped.symlinks, 1u);
    EXPECT_FALSE(found.summary.truncated());
  }
  EXPECT_EQ(Grep(tree.Root("fifo"), "x").summary.skipped.special, 1u) << "and does not hang";
  EXPECT_EQ(Grep(tree.Root("large"), "x", {.max_file_bytes = kUnlimited}).matches.size(), 1u);
}

TEST(GrepSearch, UnreadableFilesMakeTheAnswerIncomplete) {
  TestTree tree;
  tree.File("open", "x");
  tree.File("shut", "x");
  ASSERT_EQ(chmod(tree.Path("shut").c_str(), 0600), 0);
  WithoutPrivileges([&] {
    for (uint32_t threads : {1u, 2u}) {
      const Found found = Grep(tree.Root(), "x", {.threads = threads});
      EXPECT_EQ(found.matches.size(), 1u);
      EXPECT_EQ(found.summary.truncation, Truncation::kUnreadable);
      EXPECT_THAT(found.summary.unreadable_paths, ElementsAre("/r/shut"));
    }
  });
}

TEST(GrepSearch, ASparseFileOfFiftyGigabytesCostsNothing) {
  TestTree tree;
  tree.File("sparse");
  ASSERT_EQ(truncate(tree.Path("sparse").c_str(), int64_t{50} << 30), 0);
  const absl::Duration start = MonotonicNow();
  EXPECT_EQ(Grep(tree.Root(), "x").summary.skipped.too_large, 1u);
  EXPECT_EQ(Grep(tree.Root(), "x", {.max_file_bytes = kUnlimited}).summary.skipped.binary, 1u);
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(5));
}

TEST(GrepSearch, OnlyLfEndsALineAndCarriageReturnsAreNotShown) {
  TestTree tree;
  tree.File("f",
            "a\r\nfoo\r\nlone\rcr foo\n\x0C"
            "foo\xE2\x80\xA8"
            "foo\nend foo\r");
  EXPECT_THAT(Grep(tree.Root(), "foo").lines(), ElementsAre("/r/f:2:1:foo", "/r/f:3:9:lone\rcr foo",
                                                            "/r/f:4:2:\x0C"
                                                            "foo\xE2\x80\xA8"
                                                            "foo",
                                                            "/r/f:5:5:end foo"));
  EXPECT_THAT(Grep(tree.Root(), "foo$").matches, testing::SizeIs(4))
      << "a carriage return before LF, or at the end, is no part of the line";
}

TEST(GrepSearch, LongLinesAreSearchedAndCutAroundTheMatch) {
  TestTree tree;
  tree.File("f", std::string(300'000, 'a') + "needle" + std::string(300'000, 'b'));
  const Found found = Grep(tree.Root(), "needle");
  ASSERT_EQ(found.matches.size(), 1u);
  const GrepMatch& match = found.matches[0];
  EXPECT_EQ(match.column, 300'001u);
  EXPECT_EQ(match.text, std::string(97, 'a') + "needle" + std::string(97, 'b'));
  EXPECT_EQ(match.text.substr(match.match_begin, match.match_end - match.match_begin), "needle");
  EXPECT_TRUE(match.cut_before);
  EXPECT_TRUE(match.cut_after);
}

TEST(GrepSearch, ContextLinesStandAroundTheMatch) {
  TestTree tree;
  tree.File("f", "1\n2\n3\nx4\n5\r\n6\nx7");
  const Found found = Grep(tree.Root(), "x", {.context_before = 2, .context_after = 1});
  ASSERT_EQ(found.matches.size(), 2u);
  const auto texts = [](const std::vector<ContextLine>& lines) {
    std::vector<std::string> result;
    for (const ContextLine& line : lines) result.push_back(line.text);
    return result;
  };
  EXPECT_THAT(texts(found.matches[0].before), ElementsAre("2", "3"));
  EXPECT_THAT(texts(found.matches[0].after), ElementsAre("5"));
  EXPECT_THAT(texts(found.matches[1].before), ElementsAre("5", "6"));
  EXPECT_THAT(texts(found.matches[1].after), IsEmpty());
  EXPECT_EQ(GrepSearch(tree.Root(),
                       *LinePattern::Compile("x", PatternSyntax::kLiteral, PatternCase::kSensitive),
                       {.context_after = kMaxContextLines + 1},
                       [](absl::Span<GrepMatch>) { return true; })
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

// Larger than is held at once: line numbers and context go on over the seams.
TEST(GrepSearch, FilesLargerThanTheWindowAreSearchedWhole) {
  TestTree tree;
  std::string text;
  uint64_t number = 0;
  std::vector<uint64_t> expected;
  while (text.size() < 3 * TextReader::kWindowBytes) {
    ++number;
    const bool hit = number % 5000 == 0;
    absl::StrAppend(&text, number, hit ? " needle" : " hay", std::string(number % 90, '.'), "\r\n");
    if (hit) expected.push_back(number);
  }
  tree.File("f", text);
  const Found found = Grep(tree.Root(), "needle",
                           {.max_results = kUnlimited,
                            .max_file_bytes = kUnlimited,
                            .context_before = 3,
                            .context_after = 3});
  ASSERT_EQ(found.matches.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const GrepMatch& match = found.matches[i];
    ASSERT_EQ(match.line, expected[i]);
    ASSERT_THAT(match.text, testing::StartsWith(absl::StrCat(expected[i], " needle")));
    ASSERT_EQ(match.before.size(), 3u);
    ASSERT_THAT(match.before[0].text, testing::StartsWith(absl::StrCat(expected[i] - 3, " hay")));
    ASSERT_EQ(match.after.size(), 3u);
    ASSERT_THAT(match.after[2].text, testing::StartsWith(absl::StrCat(expected[i] + 3, " hay")));
  }
  tree.File("f", std::string(3 * TextReader::kWindowBytes, 'a'));
  EXPECT_EQ(Grep(tree.Root(), "needle", {.max_file_bytes = kUnlimited}).summary.skipped.too_large,
            1u)
      << "a line that does not fit in memory";
}

TEST(GrepSearch, Utf16WithAMarkIsSearchedAndReported) {
  const auto utf16 = [](absl::string_view ascii, bool little) {
    std::string text = little ? "\xFF\xFE" : "\xFE\xFF";
    for (char c : ascii) {
      if (!little) text += '\0';
      text += c;
      if (little) text += '\0';
    }
    return text;
  };
  TestTree tree;
  tree.File("be", utf16("one\r\ntwo needle\r\n", false));
  tree.File("le", utf16("one\ntwo needle", true));
  tree.File("plain-bom", "\xEF\xBB\xBFneedle");
  tree.File("wide", std::string("\xFF\xFE\x3D\xD8\x00\xDE \0n\0e\0e\0d\0l\0e\0\x05\x0D", 22));
  tree.File("nul", utf16(std::string("a\0needle", 8), true));
  const Found found = Grep(tree.Root(), "needle");
  EXPECT_THAT(found.lines(),
              ElementsAre("/r/be:2:5:two needle", "/r/le:2:5:two needle", "/r/plain-bom:1:1:needle",
                          "/r/wide:1:6:\xF0\x9F\x98\x80 needle\xE0\xB4\x85"));
  EXPECT_EQ(found.matches[0].encoding, TextEncoding::kUtf16Be);
  EXPECT_EQ(found.matches[1].encoding, TextEncoding::kUtf16Le);
  EXPECT_EQ(found.matches[2].encoding, TextEncoding::kUtf8);
  EXPECT_EQ(found.summary.utf16_files, 3u);
  EXPECT_EQ(found.summary.skipped.binary, 1u);
}

// D-4, D-5: names survive whole, and no match is made up.
TEST(GrepSearch, OddNamesAreReportedByteForByte) {
  TestTree tree;
  const std::vector<std::string> names = {
      "\x1B[31m", "-e", "a\nb:1:x", "a:1:b.txt", "notes.txt ", std::string(255, 'z'), "\xFF\xFE"};
  for (const std::string& name : names) tree.File(name, "needle");
  std::vector<std::string> paths;
  for (const GrepMatch& match : Grep(tree.Root(), "needle").matches) paths.push_back(match.path);
  std::vector<std::string> expected;
  for (const std::string& name : names) expected.push_back("/r/" + name);
  EXPECT_EQ(paths, expected);
}

TEST(GrepSearch, ThreadsChangeNoResult) {
  TestTree tree;
  for (int i = 0; i < 700; ++i) {
    std::string text;
    for (int line = 0; line < 1 + i % 7; ++line) absl::StrAppend(&text, "line ", line, " foo\n");
    // Some with more results than may wait.
    if (i % 200 == 3) text += std::string(3000, 'y') + "\n";
    for (int line = 0; i % 200 == 3 && line < 3000; ++line) text += "foo again and again\n";
    tree.File(absl::StrCat("d", i % 13, "/e", i % 3, "/f", i), text);
  }
  const Found one = Grep(tree.Root(), "foo", {.max_results = kUnlimited});
  EXPECT_GT(one.matches.size(), 10000u);
  for (uint32_t threads : {2u, 5u}) {
    for (uint64_t limit : {kUnlimited, uint64_t{1000}, uint64_t{1}}) {
      const Found many = Grep(tree.Root(), "foo", {.max_results = limit, .threads = threads});
      std::vector<std::string> expected = one.lines();
      if (expected.size() > limit) expected.resize(limit);
      EXPECT_EQ(many.lines(), expected) << threads << " threads, limit " << limit;
      EXPECT_EQ(many.summary.truncated(), limit != kUnlimited);
    }
  }
}

TEST(GrepSearch, ASinkThatWantsNoMoreEndsTheSearch) {
  TestTree tree;
  for (int i = 0; i < 300; ++i) tree.File(absl::StrCat("f", i), "foo\n");
  const LinePattern pattern =
      *LinePattern::Compile("foo", PatternSyntax::kLiteral, PatternCase::kSensitive);
  for (uint32_t threads : {1u, 4u}) {
    size_t calls = 0;
    const absl::StatusOr<Summary> summary =
        GrepSearch(tree.Root(), pattern, {.threads = threads},
                   [&](absl::Span<GrepMatch>) { return ++calls < 2; });
    EXPECT_EQ(calls, 2u);
    EXPECT_EQ(summary->truncation, Truncation::kCancelled);
  }
}

TEST(GrepSearch, ADeadlineEndsTheSearchAndSaysSo) {
  TestTree tree;
  tree.File("f", "foo");
  for (uint32_t threads : {1u, 2u}) {
    const Found found =
        Grep(tree.Root(), "foo",
             {.threads = threads,
              .walk = {.interrupt = {.deadline = Deadline::After(absl::ZeroDuration())}}});
    EXPECT_THAT(found.lines(), IsEmpty());
    EXPECT_EQ(found.summary.truncation, Truncation::kDeadline);
  }
  EXPECT_EQ(Grep(tree.Root("f"), "foo",
                 {.walk = {.interrupt = {.deadline = Deadline::After(absl::ZeroDuration())}}})
                .summary.truncation,
            Truncation::kDeadline);
}

// Files come, go, grow and shrink while they are searched; no path or line is made up.
TEST(GrepSearch, FilesThatChangeMeanwhileDoNoHarm) {
  TestTree tree;
  tree.Folder("d");
  std::atomic<bool> done = false;
  std::thread changer([&] {
    for (int i = 0; !done; ++i) {
      const std::string path = tree.Path(absl::StrCat("d/f", i % 50));
      const unique_fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
      (void)!write(fd.get(), "needle\nneedle\n", 14);
      (void)!ftruncate(fd.get(), i % 3 == 0 ? 7 : 500'000);
      if (i % 5 == 0) unlink(path.c_str());
    }
  });
  for (int i = 0; i < 200; ++i) {
    const Found found =
        Grep(tree.Root(), "needle", {.max_results = kUnlimited, .threads = i % 2 == 0 ? 1u : 2u});
    for (const GrepMatch& match : found.matches) {
      EXPECT_THAT(match.path, testing::StartsWith("/r/d/f"));
      EXPECT_EQ(match.text.substr(0, 6), "needle");
      EXPECT_LE(match.line, 2u);
    }
    EXPECT_EQ(found.summary.unreadable, 0u);
  }
  done = true;
  changer.join();
}

TEST(GrepSearch, ProcAsTheRootEnds) {
  const SearchRoot root = *OpenPath(absl::StrCat("/proc/", getpid()), "/r");
  const Found found =
      Grep(root, "^Name:", {.glob = *GlobPattern::Compile("/status"), .walk = {.max_depth = 1}});
  ASSERT_EQ(found.matches.size(), 1u);
  EXPECT_THAT(found.matches[0].text, HasSubstr("cubby_search"));
  const Found all = Grep(
      *OpenPath("/proc", "/r"), "no such text anywhere",
      {.walk = {.max_depth = 1, .interrupt = {.deadline = Deadline::After(absl::Seconds(60))}}});
  EXPECT_NE(all.summary.truncation, Truncation::kDeadline) << "kmsg and its kin never block";
}

}  // namespace
}  // namespace cubby::search
