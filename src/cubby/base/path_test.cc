#include "cubby/base/path.h"

#include "gtest/gtest.h"

namespace cubby {
namespace {

TEST(Path, AbsolutePathsAreCanonicalised) {
  EXPECT_EQ(*NormalizePath("/a//b/./c/"), "/a/b/c");
  EXPECT_EQ(*NormalizePath("/"), "/");
  EXPECT_EQ(*NormalizePath("/./"), "/");
}

TEST(Path, RelativePathsAreUnderTheWorkspace) {
  EXPECT_EQ(*NormalizePath("a/b"), "/mnt/user-data/workspace/a/b");
  EXPECT_EQ(*NormalizePath("."), "/mnt/user-data/workspace");
}

TEST(Path, NamesAreBytes) {
  EXPECT_EQ(*NormalizePath("/a\nb/-rf/ x /\xff:"), "/a\nb/-rf/ x /\xff:");
  EXPECT_EQ(*NormalizePath("/..a/b.."), "/..a/b..");
}

// P-10: an empty path is an argument error, a `..` segment is refused before any backend call.
TEST(Path, BadPathsAreRefused) {
  EXPECT_EQ(NormalizePath("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(NormalizePath(absl::string_view("/a\0b", 4)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(NormalizePath("/a/../b").status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(NormalizePath("..").status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(NormalizePath(std::string(5000, 'x')).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// C-72: the boundary is a whole segment.
TEST(Path, WithinIsAWholeSegmentTest) {
  EXPECT_TRUE(IsWithin("/mnt/user-data", "/mnt/user-data"));
  EXPECT_TRUE(IsWithin("/mnt/user-data/x", "/mnt/user-data"));
  EXPECT_FALSE(IsWithin("/mnt/user-data2", "/mnt/user-data"));
  EXPECT_TRUE(IsWithin("/x", "/"));
}

TEST(Path, DirnameAndBasename) {
  EXPECT_EQ(Dirname("/a/b"), "/a");
  EXPECT_EQ(Dirname("/a"), "/");
  EXPECT_EQ(Basename("/a/b"), "b");
  EXPECT_EQ(JoinPath("/", "a"), "/a");
  EXPECT_EQ(JoinPath("/a", "b"), "/a/b");
}

}  // namespace
}  // namespace cubby
