#include "cubby/search/glob_search.h"

#include "absl/strings/str_cat.h"
#include "cubby/search/testing/test_tree.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby::search {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Found {
  std::vector<std::string> paths;
  Summary summary;
};

Found Glob(const SearchRoot& root, absl::string_view pattern, const GlobOptions& options = {},
           GlobRules rules = GlobRules::kRecursive) {
  Found found;
  absl::StatusOr<Summary> summary = GlobSearch(root, *GlobPattern::Compile(pattern, rules), options,
                                               [&found](absl::Span<GlobResult> results) {
                                                 for (GlobResult& result : results)
                                                   found.paths.push_back(std::move(result.path));
                                                 return true;
                                               });
  EXPECT_TRUE(summary.ok()) << summary.status();
  found.summary = *std::move(summary);
  EXPECT_EQ(found.summary.results, found.paths.size());
  return found;
}

TEST(GlobSearch, FindsByPatternInPathOrderUnderTheShownName) {
  TestTree tree;
  for (const char* f : {"src/b.py", "src/a/c.py", "a.py", "src/x.c", "docs/.hid.py"}) tree.File(f);
  EXPECT_THAT(Glob(tree.Root(), "*.py").paths,
              ElementsAre("/r/a.py", "/r/docs/.hid.py", "/r/src/a/c.py", "/r/src/b.py"));
  EXPECT_THAT(Glob(tree.Root(), "src/*.py").paths, ElementsAre("/r/src/b.py"));
  EXPECT_THAT(Glob(tree.Root(), "src/**/*.py", {}, GlobRules::kCompat).paths,
              ElementsAre("/r/src/a/c.py"));
}

TEST(GlobSearch, FoldersComeOnlyWhenAskedFor) {
  TestTree tree;
  tree.File("a/a/f");
  EXPECT_THAT(Glob(tree.Root(), "a").paths, IsEmpty());
  EXPECT_THAT(Glob(tree.Root(), "a", {.folders = Folders::kInclude}).paths,
              ElementsAre("/r/a", "/r/a/a"));
  EXPECT_THAT(Glob(tree.Root(), "a/").paths, ElementsAre("/r/a", "/r/a/a"));
  EXPECT_THAT(Glob(tree.Root(), "f/").paths, IsEmpty()) << "a file is no folder";
}

TEST(GlobSearch, FoldersThatCannotHoldAMatchAreNotEntered) {
  TestTree tree;
  tree.File("src/f.c");
  tree.File("other/deep/deeper/g.c");
  const Found found = Glob(tree.Root(), "src/*.c");
  EXPECT_THAT(found.paths, ElementsAre("/r/src/f.c"));
  EXPECT_EQ(found.summary.visited, 3u) << "src, other and f.c";
}

TEST(GlobSearch, TruncatedMeansThatOneMoreExists) {
  TestTree tree;
  for (int i = 0; i < 5; ++i) tree.File(absl::StrCat("f", i));
  const auto truncation = [&](const char* pattern, uint64_t limit) {
    const Found found = Glob(tree.Root(), pattern, {.max_results = limit});
    EXPECT_EQ(found.paths.size(), std::min<uint64_t>(limit, *pattern == 'f' ? 5 : 0));
    return found.summary.truncation;
  };
  EXPECT_EQ(truncation("f*", 6), Truncation::kNone);
  EXPECT_EQ(truncation("f*", 5), Truncation::kNone) << "exactly full is complete";
  EXPECT_EQ(truncation("f*", 4), Truncation::kLimit);
  EXPECT_EQ(truncation("f*", 0), Truncation::kLimit);
  EXPECT_EQ(truncation("g*", 0), Truncation::kNone) << "nothing matches: nothing is missing";
}

// D-1: what is ignored or does not match takes no part of the limit.
TEST(GlobSearch, ClutterNeverHidesResults) {
  TestTree tree;
  for (int i = 0; i < 300; ++i) tree.File(absl::StrCat("node_modules/", i, "/x.py"));
  for (int i = 0; i < 300; ++i) tree.File(absl::StrCat("a", i, ".txt"));
  tree.File("z.py");
  const IgnoreRules rules;
  const Found found = Glob(tree.Root(), "*.py", {.max_results = 1, .walk = {.ignore = &rules}});
  EXPECT_THAT(found.paths, ElementsAre("/r/z.py"));
  EXPECT_FALSE(found.summary.truncated());
  EXPECT_EQ(found.summary.ignored, 1u);
}

TEST(GlobSearch, ARootThatIsNoFolderIsRefused) {
  TestTree tree;
  tree.File("f");
  tree.Fifo("fifo");
  for (const char* name : {"f", "fifo"}) {
    const absl::Status status =
        GlobSearch(tree.Root(name), *GlobPattern::Compile("*"), {}, [](absl::Span<GlobResult>) {
          return true;
        }).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << name;
  }
}

TEST(GlobSearch, TheFirstResultComesBeforeTheWalkEndsAndTheSinkMayStopIt) {
  TestTree tree;
  for (int i = 0; i < 1000; ++i) tree.File(absl::StrCat("d", i % 10, "/f", i));
  size_t calls = 0;
  size_t first = 0;
  const absl::StatusOr<Summary> summary =
      GlobSearch(tree.Root(), *GlobPattern::Compile("f*"), {.max_results = kUnlimited},
                 [&](absl::Span<GlobResult> results) {
                   if (++calls == 1) first = results.size();
                   return calls < 3;
                 });
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(calls, 3u);
  EXPECT_EQ(summary->truncation, Truncation::kCancelled);
  EXPECT_LT(summary->visited, 1000u);
}

TEST(GlobSearch, OddFilesAreNamedForWhatTheyAre) {
  TestTree tree;
  tree.Fifo("fifo");
  tree.Link("link", "/etc");
  tree.File("a:1:b\n.txt");
  std::vector<FileType> types;
  std::vector<std::string> paths;
  ASSERT_TRUE(
      GlobSearch(tree.Root(), *GlobPattern::Compile("*"), {}, [&](absl::Span<GlobResult> results) {
        for (const GlobResult& result : results) {
          paths.push_back(result.path);
          types.push_back(result.type);
        }
        return true;
      }).ok());
  EXPECT_THAT(paths, ElementsAre("/r/a:1:b\n.txt", "/r/fifo", "/r/link"));
  EXPECT_THAT(types, ElementsAre(FileType::kFile, FileType::kFifo, FileType::kSymlink));
}

}  // namespace
}  // namespace cubby::search
