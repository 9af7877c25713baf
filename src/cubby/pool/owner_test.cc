#include "cubby/pool/owner.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "cubby/pool/owner_label.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

class OwnerTest : public testing::Test {
 protected:
  OwnerTest() : folder_(*TemporaryDirectory::Create("/tmp", "cubby-owner-")) {}
  TemporaryDirectory folder_;
  OwnerLocks locks_{folder_.path()};
};

TEST_F(OwnerTest, OwnerLivesAsLongAsItsHeartbeat) {
  std::optional<Owner> owner;
  {
    const absl::StatusOr<Heartbeat> heartbeat = Heartbeat::Start(folder_.path());
    ASSERT_TRUE(heartbeat.ok()) << heartbeat.status();
    owner = heartbeat->owner();
    EXPECT_TRUE(locks_.IsAlive(*owner));
    EXPECT_TRUE(locks_.IsAlive(*owner)) << "asking does not end it";
    locks_.Forget(*owner);
    EXPECT_TRUE(locks_.IsAlive(*owner)) << "the living are not forgotten";
  }
  EXPECT_FALSE(locks_.IsAlive(*owner)) << "though the process runs on";
  EXPECT_THAT(*ListDirectory(folder_.path()), testing::IsEmpty());
}

TEST_F(OwnerTest, KilledProcessIsDeadAndItsFileIsRemoved) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const absl::StatusOr<Heartbeat> heartbeat = Heartbeat::Start(folder_.path());
    const std::string id = heartbeat.ok() ? heartbeat->owner().id : "";
    if (write(ready[1], id.data(), id.size()) < 0) _exit(1);
    pause();
  }
  char id[16];
  ASSERT_EQ(read(ready[0], id, sizeof id), 16);
  const Owner owner{.id = std::string(id, sizeof id), .process = *IdentifyProcess(child)};
  EXPECT_TRUE(locks_.IsAlive(owner));
  Owner reused = owner;
  reused.process.start_time += 1;
  EXPECT_FALSE(locks_.IsAlive(reused)) << "another process with that number is not it";
  Owner rebooted = owner;
  rebooted.process.boot_id = "another";
  EXPECT_FALSE(locks_.IsAlive(rebooted));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  EXPECT_FALSE(locks_.IsAlive(owner));
  locks_.Forget(owner);
  EXPECT_THAT(*ListDirectory(folder_.path()), testing::IsEmpty());
}

TEST_F(OwnerTest, LabelIsReadBackAndADamagedOneIsNobodys) {
  const Owner owner{.id = "0123", .process = {.pid = 7, .start_time = 8, .boot_id = "a boot"}};
  EXPECT_EQ(ParseOwnerLabel(OwnerLabel(owner)), owner);
  for (const char* damaged : {"", "0123", "0123 7 8", "0123 x 8 boot", "0123 7 -8 boot"}) {
    EXPECT_EQ(ParseOwnerLabel(damaged), std::nullopt) << damaged;
  }
}

}  // namespace
}  // namespace cubby
