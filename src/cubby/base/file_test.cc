#include "cubby/base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "cubby/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

class FileTest : public testing::Test {
 protected:
  FileTest() : directory_(*TemporaryDirectory::Create(testing::TempDir(), "cubby-file-")) {}
  std::string Path(const std::string& name) { return directory_.path() + "/" + name; }
  TemporaryDirectory directory_;
};

TEST_F(FileTest, ReplacedContentHasTheModeAndNoTemporaryFileStays) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "one").ok());
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "two", 0640).ok());
  EXPECT_EQ(*ReadSmallFile(Path("f")), "two");
  struct stat st {};
  ASSERT_EQ(stat(Path("f").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0640u);
  EXPECT_THAT(*ListDirectory(directory_.path()), testing::ElementsAre("f"));
}

TEST_F(FileTest, ReadingIsBounded) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), std::string(100, 'x')).ok());
  EXPECT_TRUE(ReadSmallFile(Path("f"), 100).ok());
  EXPECT_EQ(ReadSmallFile(Path("f"), 99).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(FileTest, RemoveTreeDoesNotFollowSymlinks) {
  ASSERT_TRUE(MakeDirectories(Path("outside")).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("outside/keep"), "x").ok());
  ASSERT_TRUE(MakeDirectories(Path("tree/a/b")).ok());
  ASSERT_EQ(symlink(Path("outside").c_str(), Path("tree/a/link").c_str()), 0);
  ASSERT_TRUE(RemoveTree(Path("tree")).ok());
  EXPECT_FALSE(FileExists(Path("tree")));
  EXPECT_TRUE(FileExists(Path("outside/keep")));
  EXPECT_TRUE(RemoveTree(Path("tree")).ok()) << "a missing tree is already removed";
}

TEST_F(FileTest, LockExcludesASecondHolderUntilItIsReleased) {
  {
    absl::StatusOr<FileLock> first = FileLock::TryAcquire(Path("lock"));
    ASSERT_TRUE(first.ok());
    EXPECT_TRUE(IsRetryable(FileLock::TryAcquire(Path("lock")).status()));
  }
  EXPECT_TRUE(FileLock::TryAcquire(Path("lock")).ok());
}

TEST_F(FileTest, SharedLockIsHeldByManyAndExcludesOne) {
  const std::string path = Path("shared");
  {
    const absl::StatusOr<FileLock> first = FileLock::AcquireShared(path);
    const absl::StatusOr<FileLock> second = FileLock::AcquireShared(path);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_TRUE(IsRetryable(FileLock::TryAcquire(path).status()));
  }
  EXPECT_TRUE(FileLock::TryAcquire(path).ok());
}

}  // namespace
}  // namespace cubby
