// The pool over real containers and its files on this host.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cubby/backend/container/container_backend.h"
#include "cubby/base/agent_program.h"
#include "cubby/base/file.h"
#include "cubby/base/subprocess.h"
#include "cubby/pool/host_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

const Identity kAda{.user = "ada", .thread = "1"};

class ContainerPoolTest : public testing::Test {
 protected:
  ContainerPoolTest() : folder_(*TemporaryDirectory::Create("/tmp", "cubby-container-pool-")) {
    EXPECT_TRUE(MakeDirectories(folder_.path() + "/layer/bin", 0755).ok());
    EXPECT_TRUE(CopyFile("/bin/busybox", folder_.path() + "/layer/bin/sh", 0755).ok());
  }
  std::shared_ptr<SandboxPool> Open(PoolSettings settings = {}) {
    const absl::StatusOr<StateDir> state = StateDir::Open(folder_.path() + "/state");
    const absl::StatusOr<std::string> agent = FindAgentProgram("");
    ContainerBackend::Options options{.agent_path = agent.value_or("")};
    options.rootfs = [this](const std::string&) {
      return ImageRootfs{.digest = "sha256:test",
                         .config = {.environment = {"PATH=/bin"}},
                         .layer_digests = {"sha256:layer"},
                         .layer_folders = {folder_.path() + "/layer"}};
    };
    absl::StatusOr<std::unique_ptr<ContainerBackend>> backend =
        ContainerBackend::Open(*state, std::move(options));
    EXPECT_TRUE(backend.ok()) << backend.status();
    settings.machine.image = "test";
    absl::StatusOr<std::shared_ptr<SandboxPool>> pool =
        OpenHostPool(*state, *std::move(backend), std::move(settings));
    EXPECT_TRUE(pool.ok()) << pool.status();
    return *pool;
  }
  void ExpectNothingLeft() {
    EXPECT_THAT(*ListDirectory(folder_.path() + "/state/machines"), testing::IsEmpty());
    EXPECT_THAT(*ListDirectory(folder_.path() + "/state/runtime"), testing::IsEmpty());
  }

  TemporaryDirectory folder_;
};

TEST_F(ContainerPoolTest, MachineIsParkedCheckedAndHandedOutAgain) {
  const std::shared_ptr<SandboxPool> pool = Open({.blanks = 1});
  absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = pool->Acquire(kAda);
  ASSERT_TRUE(sandbox.ok()) << sandbox.status();
  ASSERT_TRUE((*sandbox)->WriteFile("f", "x").ok());
  ASSERT_TRUE(pool->Release(SandboxIdOf(kAda)).ok());
  sandbox = pool->Acquire(kAda);
  ASSERT_TRUE(sandbox.ok()) << sandbox.status();
  EXPECT_EQ((*sandbox)->ReadFile("f")->bytes, "x");
  EXPECT_EQ((*sandbox)->Execute(Command::Shell("echo hi"))->out.bytes, "hi\n");
  EXPECT_TRUE(pool->Shutdown().ok());
  EXPECT_TRUE(pool->List()->empty());
  ExpectNothingLeft();
}

TEST_F(ContainerPoolTest, NextProcessAdoptsWhatAKilledOneLeft) {
  const pid_t child = fork();
  if (child == 0) {
    const std::shared_ptr<SandboxPool> own = Open();
    const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = own->Acquire(kAda);
    if (sandbox.ok()) (*sandbox)->WriteFile("left", "behind").IgnoreError();
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  const std::shared_ptr<SandboxPool> pool = Open();
  const absl::StatusOr<std::vector<MachineRow>> rows = pool->List();
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].state, MachineState::kWarm);
  EXPECT_EQ((*rows)[0].owner.process.pid, getpid());
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = pool->Acquire(kAda);
  ASSERT_TRUE(sandbox.ok()) << sandbox.status();
  EXPECT_EQ((*sandbox)->ReadFile("left")->bytes, "behind");
  EXPECT_TRUE(pool->Shutdown().ok());
  ExpectNothingLeft();
}

}  // namespace
}  // namespace cubby
