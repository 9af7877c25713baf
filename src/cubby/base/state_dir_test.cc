#include "cubby/base/state_dir.h"

#include <unistd.h>

#include "cubby/base/file.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

class StateDirTest : public testing::Test {
 protected:
  StateDirTest()
      : temporary_(*TemporaryDirectory::Create("/tmp", "cubby-state-")),
        folder_(temporary_.path()) {}
  TemporaryDirectory temporary_;
  const std::string folder_;
};

TEST_F(StateDirTest, PathsAreThoseThatTheKernelShows) {
  ASSERT_TRUE(MakeDirectories(folder_ + "/real").ok());
  ASSERT_EQ(symlink("real", (folder_ + "/link").c_str()), 0);
  for (const std::string name : {"/link", "/real/", "//real", "/./real/../link/"}) {
    const absl::StatusOr<StateDir> state = StateDir::Open(folder_ + name);
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(state->root(), folder_ + "/real") << name;
  }
}

TEST_F(StateDirTest, WhatIsMissingIsMade) {
  const absl::StatusOr<StateDir> state = StateDir::Open(folder_ + "/a/b");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_TRUE(FileExists(state->machines()));
  EXPECT_TRUE(FileExists(state->images()));
}

TEST_F(StateDirTest, ARelativePathAndALaterLayoutAreRefused) {
  EXPECT_EQ(StateDir::Open("state").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(StateDir::Open("").status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/version", "99\n").ok());
  EXPECT_EQ(StateDir::Open(folder_).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace cubby
