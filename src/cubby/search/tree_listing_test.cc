#include "cubby/search/tree_listing.h"

#include "cubby/base/file_mode.h"
#include "cubby/search/testing/test_tree.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby::search {
namespace {

std::vector<ListedEntry> List(const SearchRoot& root, const ListOptions& options,
                              Summary* summary) {
  std::vector<ListedEntry> entries;
  absl::StatusOr<Summary> result = ListTree(root, options, [&](absl::Span<ListedEntry> batch) {
    for (ListedEntry& entry : batch) entries.push_back(std::move(entry));
    return true;
  });
  EXPECT_TRUE(result.ok()) << result.status();
  *summary = *std::move(result);
  return entries;
}

TEST(TreeListing, EntriesCarryTypeSizeAndTime) {
  TestTree tree;
  tree.File("d/f", "12345");
  tree.File("d/e/too-deep");
  tree.Link("l", "d");
  const timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1700000000, .tv_nsec = 5}};
  ASSERT_EQ(utimensat(AT_FDCWD, tree.Path("d/f").c_str(), times, 0), 0);
  Summary summary;
  const std::vector<ListedEntry> entries = List(tree.Root(), {}, &summary);
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0].path, "/r/d");
  EXPECT_EQ(FileTypeOf(entries[0].status.st_mode), FileType::kDirectory);
  EXPECT_EQ(entries[1].path, "/r/d/e");
  EXPECT_EQ(entries[2].path, "/r/d/f");
  EXPECT_EQ(FileTypeOf(entries[2].status.st_mode), FileType::kFile);
  EXPECT_EQ(entries[2].status.st_size, 5);
  EXPECT_EQ(absl::TimeFromTimespec(entries[2].status.st_mtim),
            absl::FromUnixSeconds(1700000000) + absl::Nanoseconds(5));
  EXPECT_EQ(entries[3].path, "/r/l");
  EXPECT_EQ(FileTypeOf(entries[3].status.st_mode), FileType::kSymlink);
  EXPECT_EQ(entries[3].link_target, "d");
  EXPECT_FALSE(summary.truncated());
}

TEST(TreeListing, ALimitBelowTheNumberOfEntriesTruncates) {
  TestTree tree;
  tree.File("a");
  tree.File("b");
  Summary summary;
  EXPECT_EQ(List(tree.Root(), {.max_results = 1}, &summary).size(), 1u);
  EXPECT_EQ(summary.truncation, Truncation::kLimit);
  EXPECT_EQ(List(tree.Root(), {.max_results = 2}, &summary).size(), 2u);
  EXPECT_EQ(summary.truncation, Truncation::kNone);
}

TEST(TreeListing, AFileIsRefused) {
  TestTree tree;
  tree.File("f");
  EXPECT_EQ(
      ListTree(tree.Root("f"), {}, [](absl::Span<ListedEntry>) { return true; }).status().code(),
      absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace cubby::search
