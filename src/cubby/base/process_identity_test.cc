#include "cubby/base/process_identity.h"

#include <sys/wait.h>
#include <unistd.h>

#include "cubby/base/subprocess.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

TEST(ProcessIdentity, SameProcessIsRecognised) {
  EXPECT_TRUE(IsRunning(ThisProcess()));
  EXPECT_EQ(*IdentifyProcess(ThisProcess().pid), ThisProcess());
}

TEST(ProcessIdentity, ReusedPidAndOtherBootAreNotTheSame) {
  ProcessIdentity other = ThisProcess();
  other.start_time += 1;
  EXPECT_FALSE(IsRunning(other));
  other = ThisProcess();
  other.boot_id = "00000000-0000-0000-0000-000000000000";
  EXPECT_FALSE(IsRunning(other));
}

TEST(ProcessIdentity, ForkedChildIsItself) {
  ASSERT_EQ(ThisProcess().pid, getpid());
  const pid_t child = fork();
  if (child == 0) _exit(ThisProcess().pid == getpid() ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(ProcessIdentity, ZombieHasEnded) {
  auto process = Subprocess::Spawn({.argv = {"sleep", "1000"}});
  ASSERT_TRUE(process.ok());
  const ProcessIdentity identity = *IdentifyProcess(process->pid());
  EXPECT_TRUE(IsRunning(identity));
  process->Kill(9);
  while (IsRunning(identity)) {
  }
  EXPECT_TRUE(process->Wait(Deadline::After(absl::Seconds(5))).ok()) << "it was not reaped before";
}

}  // namespace
}  // namespace cubby
