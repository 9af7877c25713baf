#include "cubby/search/walker.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/search/testing/test_tree.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby::search {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Walk(const SearchRoot& root, Summary* summary,
                              const WalkOptions& options = {}, EntryFilter* filter = nullptr) {
  Walker walker(root, options, filter, summary);
  std::vector<std::string> paths;
  Walker::Entry entry;
  while (walker.Next(&entry)) paths.emplace_back(entry.path);
  summary->Finish();
  return paths;
}

std::vector<std::string> Walk(const TestTree& tree, const WalkOptions& options = {}) {
  Summary summary;
  return Walk(tree.Root(), &summary, options);
}

// The documented order: paths compared segment by segment.
void SortByPath(std::vector<std::string>* paths) {
  std::sort(paths->begin(), paths->end(), [](const std::string& a, const std::string& b) {
    const std::vector<std::string> left = absl::StrSplit(a, '/');
    const std::vector<std::string> right = absl::StrSplit(b, '/');
    return left < right;
  });
}

TEST(Walker, GivesPathsInPathOrder) {
  TestTree tree;
  for (const char* file : {"b", "a/x", "a-b", "a/b/c", "a.c", "B", "\xC3\xA9", "a/b-c", "ab"}) {
    tree.File(file);
  }
  EXPECT_THAT(Walk(tree), ElementsAre("B", "a", "a/b", "a/b/c", "a/b-c", "a/x", "a-b", "a.c", "ab",
                                      "b", "\xC3\xA9"));
}

TEST(Walker, NamesAreBytes) {
  TestTree tree;
  const std::vector<std::string> names = {"\x1B[31m",  " lead",       "-rf",  "a\nb",
                                          "a:1:b.txt", "trail ",      "x\\y", std::string(255, 'z'),
                                          "\xFF\xFEq", "\xE2\x80\xA8"};
  for (const std::string& name : names) tree.File(name);
  std::vector<std::string> expected = names;
  SortByPath(&expected);
  EXPECT_EQ(Walk(tree), expected);
}

TEST(Walker, IgnoredNamesArePrunedBelowTheRootOnly) {
  TestTree tree;
  tree.File("build/node_modules/x/y/z");
  tree.File("build/a.log");
  tree.File("build/src/main.c");
  const IgnoreRules rules;
  Summary summary;
  const SearchRoot root = tree.Root("build");
  EXPECT_THAT(Walk(root, &summary, {.ignore = &rules}), ElementsAre("src", "src/main.c"));
  EXPECT_EQ(summary.ignored, 2u);
  EXPECT_EQ(summary.visited, 2u);
  EXPECT_FALSE(summary.truncated());
}

TEST(Walker, SymlinksAreReportedAndNeverFollowed) {
  TestTree outside;
  outside.File("secret");
  TestTree tree;
  tree.File("d/f");
  tree.Link("loop", ".");
  tree.Link("out", outside.Path());
  tree.Link("d/up", "..");
  tree.Link("dangling", "nowhere");
  EXPECT_THAT(Walk(tree), ElementsAre("d", "d/f", "d/up", "dangling", "loop", "out"));
}

TEST(Walker, TheRootItselfMayBeNamedThroughASymlink) {
  TestTree tree;
  tree.File("real/f");
  tree.Link("link", "real");
  Summary summary;
  EXPECT_THAT(Walk(tree.Root("link"), &summary), ElementsAre("f"));
}

TEST(Walker, ARootNeverResolvesOutOfItsBase) {
  TestTree tree;
  tree.File("base/inner/f");
  tree.File("outside/g");
  tree.Link("base/abs", "/inner");        // as seen from the base
  tree.Link("base/up", "../../outside");  // `..` of the base is the base
  const unique_fd base(open(tree.Path("base").c_str(), O_PATH | O_CLOEXEC));
  absl::StatusOr<SearchRoot> root = SearchRoot::Open(base.get(), "/abs", "/abs");
  ASSERT_TRUE(root.ok()) << root.status();
  Summary summary;
  EXPECT_THAT(Walk(*root, &summary), ElementsAre("f"));
  EXPECT_EQ(SearchRoot::Open(base.get(), "/up", "/up").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(SearchRoot::Open(base.get(), absl::string_view("a\0b", 3), "x").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Walker, DepthIsLimited) {
  TestTree tree;
  tree.File("a/b/c/d");
  EXPECT_THAT(Walk(tree, {.max_depth = 1}), ElementsAre("a"));
  EXPECT_THAT(Walk(tree, {.max_depth = 2}), ElementsAre("a", "a/b"));
  EXPECT_THAT(Walk(tree, {.max_depth = 0}), IsEmpty());
}

TEST(Walker, UnreadableFoldersAreCountedAndNamed) {
  TestTree tree;
  tree.File("open/f");
  tree.File("shut/f");
  ASSERT_EQ(chmod(tree.Path("shut").c_str(), 0700), 0);
  WithoutPrivileges([&] {
    Summary summary;
    EXPECT_THAT(Walk(tree.Root(), &summary), ElementsAre("open", "open/f", "shut"));
    EXPECT_EQ(summary.truncation, Truncation::kUnreadable);
    EXPECT_EQ(summary.unreadable, 1u);
    EXPECT_THAT(summary.unreadable_paths, ElementsAre("/r/shut"));
  });
}

TEST(Walker, AnUnreadableOrMissingRootIsAnError) {
  TestTree tree;
  tree.Folder("shut");
  ASSERT_EQ(chmod(tree.Path("shut").c_str(), 0700), 0);
  EXPECT_EQ(OpenPath(tree.Path("none"), "/r/none").status().code(), absl::StatusCode::kNotFound);
  WithoutPrivileges([&] {
    EXPECT_EQ(OpenPath(tree.Path("shut"), "/r/shut").status().code(),
              absl::StatusCode::kPermissionDenied);
  });
}

TEST(Walker, DeadlineAndCancellationEndTheWalk) {
  TestTree tree;
  tree.File("f");
  Summary late;
  EXPECT_THAT(
      Walk(tree.Root(), &late, {.interrupt = {.deadline = Deadline::After(absl::ZeroDuration())}}),
      IsEmpty());
  EXPECT_EQ(late.truncation, Truncation::kDeadline);
  const std::atomic<bool> cancelled = true;
  Summary stopped;
  EXPECT_THAT(Walk(tree.Root(), &stopped, {.interrupt = {.cancelled = &cancelled}}), IsEmpty());
  EXPECT_EQ(stopped.truncation, Truncation::kCancelled);
}

// A small arena makes windows of few names: every kind of spilling happens, at every level.
TEST(Walker, AnArenaTooSmallForAFolderChangesNoResult) {
  TestTree tree;
  std::mt19937 random(3);
  std::vector<std::string> expected;
  for (const char* folder : {"", "sub", "sub/sub", "sub/sub/sub"}) {
    if (*folder != '\0') {
      tree.Folder(folder);
      expected.emplace_back(folder);
    }
    for (int i = 0; i < 700; ++i) {
      const std::string name = absl::StrCat(i % 3 == 0 ? "commonprefix" : "", random() % 100000,
                                            "-", i, std::string(random() % 60, 'x'));
      const std::string path = JoinPath(folder, name);
      tree.File(path);
      expected.push_back(path);
    }
  }
  SortByPath(&expected);
  for (size_t arena : {size_t{4096}, size_t{40 << 10}, size_t{100 << 10}, size_t{8 << 20}}) {
    Summary summary;
    EXPECT_EQ(Walk(tree.Root(), &summary, {.arena_bytes = arena}), expected) << arena;
    EXPECT_EQ(summary.visited, expected.size()) << arena;
    EXPECT_FALSE(summary.truncated());
  }
}

class NothingWanted : public EntryFilter {
 public:
  void EnterFolder(absl::string_view folder) override {}
  Verdict Judge(absl::string_view name, FileType type) override { return {false, false}; }
};

TEST(Walker, WhatTheFilterDoesNotWantIsNotGiven) {
  TestTree tree;
  tree.File("a/b");
  NothingWanted filter;
  Summary summary;
  EXPECT_THAT(Walk(tree.Root(), &summary, {}, &filter), IsEmpty());
  EXPECT_EQ(summary.visited, 1u);
}

// Deeper than descriptors are kept, and than the process could have.
TEST(Walker, DepthTakesNoDescriptors) {
  TestTree tree;
  unique_fd folder(open(tree.Path().c_str(), O_PATH | O_CLOEXEC));
  constexpr int kDepth = 400;
  for (int i = 0; i < kDepth; ++i) {
    ASSERT_EQ(mkdirat(folder.get(), "d", 0755), 0);
    ASSERT_EQ(mkdirat(folder.get(), "e", 0755), 0);
    folder.reset(openat(folder.get(), "d", O_PATH | O_CLOEXEC));
    ASSERT_TRUE(folder.valid());
  }
  const SearchRoot root = tree.Root();
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  const rlimit tight{.rlim_cur = 128, .rlim_max = old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  Summary summary;
  const size_t found = Walk(root, &summary).size();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_EQ(found, size_t{2 * kDepth});
  EXPECT_FALSE(summary.truncated());
}

// Beyond what a path can name nothing can be opened: the summary says so.
TEST(Walker, PathsTooLongToNameAreReportedAsUnreadable) {
  TestTree tree;
  const std::string name(250, 'n');
  unique_fd folder(open(tree.Path().c_str(), O_PATH | O_CLOEXEC));
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(mkdirat(folder.get(), name.c_str(), 0755), 0);
    folder.reset(openat(folder.get(), name.c_str(), O_PATH | O_CLOEXEC));
  }
  Summary summary;
  EXPECT_EQ(Walk(tree.Root(), &summary).size(), 16u);
  EXPECT_EQ(summary.truncation, Truncation::kUnreadable);
  EXPECT_EQ(summary.unreadable, 1u);
}

TEST(Walker, FoldersThatVanishOrChangeAreCountedAndNotFollowed) {
  TestTree outside;
  outside.File("secret");
  TestTree tree;
  tree.File("a/f");
  tree.File("b/f");
  tree.File("c/f");
  Summary summary;
  const SearchRoot root = tree.Root();
  Walker walker(root, {}, nullptr, &summary);
  Walker::Entry entry;
  ASSERT_TRUE(walker.Next(&entry));  // the root was read: a, b and c are known
  ASSERT_TRUE(RemoveTree(tree.Path("b")).ok());
  ASSERT_TRUE(RemoveTree(tree.Path("c")).ok());
  tree.Link("c", outside.Path());
  std::vector<std::string> rest;
  while (walker.Next(&entry)) rest.emplace_back(entry.path);
  EXPECT_THAT(rest, ElementsAre("a/f", "b", "c"));
  EXPECT_EQ(summary.vanished, 2u);
  EXPECT_EQ(summary.unreadable, 0u);
}

TEST(Walker, MountsAreEnteredButPseudoFileSystemsAndLoopsAreNot) {
  TestTree tree;
  tree.File("data/f");
  tree.Folder("proc");
  tree.Folder("volume");
  tree.Folder("data/again");
  WithOwnMounts([&] {
    ASSERT_EQ(mount("none", tree.Path("volume").c_str(), "tmpfs", 0, nullptr), 0);
    tree.File("volume/g");
    ASSERT_EQ(mount("/proc", tree.Path("proc").c_str(), nullptr, MS_BIND, nullptr), 0);
    ASSERT_EQ(mount(tree.Path("data").c_str(), tree.Path("data/again").c_str(), nullptr, MS_BIND,
                    nullptr),
              0);
    Summary summary;
    EXPECT_THAT(Walk(tree.Root(), &summary),
                ElementsAre("data", "data/again", "data/f", "proc", "volume", "volume/g"));
    EXPECT_EQ(summary.pseudo_mounts, 1u);
    EXPECT_EQ(summary.loops, 1u);
    EXPECT_FALSE(summary.truncated());
  });
}

TEST(Walker, ProcAsTheRootIsWalkedToItsEnd) {
  absl::StatusOr<SearchRoot> root = OpenPath("/proc/self/root", "/r");
  ASSERT_FALSE(root.ok()) << "a magic link, which leads anywhere, is not followed";
  root = OpenPath(absl::StrCat("/proc/", getpid()), "/proc/me");
  ASSERT_TRUE(root.ok()) << root.status();
  Summary summary;
  const std::vector<std::string> paths =
      Walk(*root, &summary, {.interrupt = {.deadline = Deadline::After(absl::Seconds(60))}});
  EXPECT_NE(summary.truncation, Truncation::kDeadline);
  EXPECT_THAT(paths, testing::Contains("status"));
  EXPECT_THAT(paths, testing::Contains("root"));
  EXPECT_THAT(paths, testing::Not(testing::Contains("root/etc")));
}

}  // namespace
}  // namespace cubby::search
