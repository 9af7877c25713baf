// Pools of several processes over one registry: moving, and what the dead leave.
#include <thread>

#include "cubby/base/log.h"
#include "cubby/pool/testing/pool_world.h"
#include "cubby/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

using Kind = FakeFault::Kind;

const Identity kAda{.user = "ada", .thread = "1"};
const Identity kBob{.user = "bob", .thread = "1"};

class PoolProcessesTest : public testing::Test {
 protected:
  PoolProcessesTest() {
    SetLogSink([](Severity, absl::string_view) {});
  }
  MachineRow Row(const Identity& identity) {
    const auto row = host_.registry().FindSandbox(SandboxIdOf(identity));
    return row.ok() && row->has_value() ? **row : MachineRow{.state = MachineState::kGone};
  }

  PoolHost host_;
};

// L-20, across processes
TEST_F(PoolProcessesTest, RacingProcessesMakeOneMachineOfAnIdentity) {
  host_.clock().WaitForReal();
  std::vector<std::unique_ptr<PoolProcess>> processes;
  for (int i = 0; i < 4; ++i) processes.push_back(host_.Start({}));
  std::vector<std::thread> threads;
  for (const std::unique_ptr<PoolProcess>& process : processes) {
    threads.emplace_back([&] {
      const absl::Status status = process->pool().Acquire(kAda).status();
      EXPECT_TRUE(status.ok()) << status;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(host_.machines().created(), 1);
}

// O-1, O-2, O-5
TEST_F(PoolProcessesTest, ThreadMovesToAnotherProcessAndTheFirstLetsGo) {
  const std::unique_ptr<PoolProcess> one = host_.Start({});
  const std::unique_ptr<PoolProcess> two = host_.Start({});
  const std::shared_ptr<Sandbox> first = *one->pool().Acquire(kAda);
  ASSERT_TRUE(first->WriteFile("f", "x").ok());
  const std::shared_ptr<Sandbox> second = *two->pool().Acquire(kAda);
  EXPECT_EQ(second->ReadFile("f")->bytes, "x");
  EXPECT_TRUE(one->pool().Release(first->id()).ok()) << "what it has lost it does not park";
  EXPECT_EQ(Row(kAda).state, MachineState::kActive);
  EXPECT_EQ(Row(kAda).owner, two->owner());
  one->pool().Maintain();
  EXPECT_EQ(one->pool().Get(first->id()), nullptr);
  EXPECT_TRUE(one->pool().Shutdown().ok());
  EXPECT_TRUE(second->WriteFile("f", "y").ok()) << "the loser's shutdown does not touch it";
}

TEST_F(PoolProcessesTest, MachinesOfALivingOwnerAreLeftAlone) {
  const std::unique_ptr<PoolProcess> one = host_.Start({.replicas = 1, .blanks = 1});
  ASSERT_TRUE(one->pool().Recover().ok());
  const std::shared_ptr<Sandbox> sandbox = *one->pool().Acquire(kAda);
  ASSERT_TRUE(one->pool().Release(sandbox->id()).ok());
  one->pool().Maintain();
  const std::vector<MachineRow> before = *host_.registry().List();
  const std::unique_ptr<PoolProcess> two =
      host_.Start({.replicas = 1, .overflow_policy = OverflowPolicy::kReject});
  EXPECT_TRUE(two->pool().Recover().ok());
  EXPECT_FALSE(two->pool().Acquire(kBob).ok()) << "another's warm machine is not evicted";
  // Even when the owner has been stopped for so long that its leases have lapsed.
  host_.clock().Advance(absl::Hours(1));
  two->pool().Maintain();
  EXPECT_TRUE(two->pool().Shutdown().ok());
  EXPECT_EQ(*host_.registry().List(), before);
}

TEST_F(PoolProcessesTest, LeaseThatLapsedUnnoticedIsClaimedAgain) {
  const std::unique_ptr<PoolProcess> one = host_.Start({.idle_timeout = absl::ZeroDuration()});
  const std::shared_ptr<Sandbox> sandbox = *one->pool().Acquire(kAda);
  host_.clock().Advance(absl::Hours(1));
  one->pool().Maintain();
  EXPECT_TRUE(one->pool().Release(sandbox->id()).ok());
  EXPECT_EQ(Row(kAda).state, MachineState::kWarm);
}

TEST_F(PoolProcessesTest, NextProcessTakesOverTheWarmAndTheActiveOfADeadOne) {
  std::unique_ptr<PoolProcess> one = host_.Start({.blanks = 1});
  ASSERT_TRUE(one->pool().Recover().ok());
  const std::shared_ptr<Sandbox> ada = *one->pool().Acquire(kAda);
  ASSERT_TRUE(ada->WriteFile("f", "x").ok());
  ASSERT_TRUE(one->pool().AcquireAnonymous().ok());
  one->pool().Maintain();
  one->Die();
  const std::unique_ptr<PoolProcess> two = host_.Start({.idle_timeout = absl::Seconds(60)});
  ASSERT_TRUE(two->pool().Recover().ok());
  EXPECT_EQ(Row(kAda).state, MachineState::kWarm);
  EXPECT_EQ(Row(kAda).owner, two->owner());
  EXPECT_EQ(Row(kAda).identity, kAda) << "with the identity that is on record";
  EXPECT_EQ(host_.machines().Machines().size(), 1u) << "nobody can acquire the others";
  EXPECT_EQ((*two->pool().Acquire(kAda))->ReadFile("f")->bytes, "x");
  EXPECT_TRUE(two->pool().Release(SandboxIdOf(kAda)).ok());
  host_.clock().Advance(absl::Seconds(61));
  two->pool().Maintain();
  EXPECT_TRUE(host_.machines().Machines().empty()) << "and it is reaped like its own";
}

TEST_F(PoolProcessesTest, DeadMachinesOfADeadOwnerAreRemoved) {
  std::unique_ptr<PoolProcess> one = host_.Start({});
  ASSERT_TRUE(one->pool().Acquire(kAda).ok());
  one->Die();
  host_.machines().Die(SandboxIdOf(kAda));
  const std::unique_ptr<PoolProcess> two = host_.Start({});
  ASSERT_TRUE(two->pool().Recover().ok());
  EXPECT_TRUE(host_.machines().Machines().empty());
  EXPECT_TRUE(host_.registry().List()->empty());
}

// The contract's `kill -9` at any point.
TEST_F(PoolProcessesTest, ProcessKilledAtAnyCallLeavesWhatTheNextOneSettles) {
  for (int calls = 1; calls < 40; ++calls) {
    std::unique_ptr<PoolProcess> one = host_.Start({.blanks = 1});
    one->DieAfter(calls);
    one->pool().Recover().IgnoreError();
    one->pool().Acquire(kAda).status().IgnoreError();
    one->pool().Release(SandboxIdOf(kAda)).IgnoreError();
    one->pool().Destroy(SandboxIdOf(kAda)).IgnoreError();
    one->pool().Maintain();
    one->Die();
    const std::unique_ptr<PoolProcess> two = host_.Start({});
    EXPECT_TRUE(two->pool().Recover().ok());
    const std::vector<MachineRow> rows = *host_.registry().List();
    EXPECT_EQ(host_.machines().Machines().size(), rows.size()) << "killed at call " << calls;
    for (const MachineRow& row : rows) {
      EXPECT_EQ(row.state, MachineState::kWarm) << "killed at call " << calls;
      EXPECT_EQ(row.owner, two->owner());
    }
    EXPECT_TRUE(two->pool().Acquire(kAda).ok()) << "killed at call " << calls;
    EXPECT_TRUE(two->pool().Shutdown().ok());
    EXPECT_TRUE(host_.machines().Machines().empty());
  }
}

TEST_F(PoolProcessesTest, MachinesAreFoundWithoutTheRegistryAndThoseOfOthersAreKept) {
  const std::unique_ptr<PoolProcess> living = host_.Start({});
  ASSERT_TRUE(living->pool().Acquire(kBob).ok());
  std::unique_ptr<PoolProcess> dead = host_.Start({});
  ASSERT_TRUE(dead->pool().Acquire(kAda).ok());
  dead->Die();
  std::vector<Stage> stages;
  ASSERT_TRUE(host_.machines().Create({.id = "own"}, Deadline::Infinite(), &stages).ok());
  for (const Identity& identity : {kAda, kBob}) {
    MachineRow row = Row(identity);
    row.state = MachineState::kTerminating;
    ASSERT_TRUE(host_.registry()
                    .Transact([&](Registry::View& view) -> absl::Status {
                      absl::Status status = view.Update(row);
                      status.Update(view.Erase(row.machine_id, row.fence));
                      return status;
                    })
                    .ok());
  }
  host_.clock().Advance(absl::Hours(1));  // the leases are lost with it
  const std::unique_ptr<PoolProcess> next = host_.Start({});
  EXPECT_TRUE(next->pool().Recover().ok());
  EXPECT_FALSE(host_.machines().Find(SandboxIdOf(kAda)).has_value());
  EXPECT_TRUE(host_.machines().Find(SandboxIdOf(kBob)).has_value()) << "its owner lives";
  EXPECT_TRUE(host_.machines().Find("own").has_value()) << "it is not the pool's";
}

TEST_F(PoolProcessesTest, DestroyReachesTheMachineOfAnotherProcess) {
  const std::unique_ptr<PoolProcess> one = host_.Start({});
  const std::unique_ptr<PoolProcess> two = host_.Start({});
  const std::shared_ptr<Sandbox> sandbox = *one->pool().Acquire(kAda);
  EXPECT_TRUE(two->pool().Destroy(sandbox->id()).ok());
  EXPECT_TRUE(host_.machines().Machines().empty());
  EXPECT_TRUE(IsTerminal(sandbox->WriteFile("f", "x")));
  EXPECT_TRUE(one->pool().Acquire(kAda).ok());
}

// O-3: nothing is adopted or removed while nothing is known.
TEST_F(PoolProcessesTest, UnknownStateOfAMachineIsSettledLater) {
  std::unique_ptr<PoolProcess> one = host_.Start({});
  ASSERT_TRUE(one->pool().Acquire(kAda).ok());
  one->Die();
  host_.machines().SetFaults([](FakeCall call, const std::string&) {
    return FakeFault{.kind = call == FakeCall::kInspect ? Kind::kFail : Kind::kNone};
  });
  const std::unique_ptr<PoolProcess> two = host_.Start({});
  EXPECT_FALSE(two->pool().Recover().ok());
  EXPECT_EQ(Row(kAda).state, MachineState::kActive);
  host_.machines().SetFaults(nullptr);
  two->pool().Maintain();
  EXPECT_EQ(Row(kAda).state, MachineState::kWarm);
}

}  // namespace
}  // namespace cubby
