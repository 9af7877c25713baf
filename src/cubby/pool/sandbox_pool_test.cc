// One pool in one process: acquire, release, room, idleness, failures.
#include "cubby/pool/sandbox_pool.h"

#include <algorithm>
#include <thread>

#include "cubby/base/log.h"
#include "cubby/pool/testing/pool_world.h"
#include "cubby/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

using testing::HasSubstr;
using Kind = FakeFault::Kind;

const Identity kAda{.user = "ada", .thread = "1"};
const Identity kBob{.user = "bob", .thread = "1"};
const Identity kCyd{.user = "cyd", .thread = "1"};

class SandboxPoolTest : public testing::Test {
 protected:
  SandboxPoolTest() {
    SetLogSink([](Severity, absl::string_view) {});
  }
  SandboxPool& Start(PoolSettings settings = {}) {
    process_ = host_.Start(std::move(settings));
    return process_->pool();
  }
  std::shared_ptr<Sandbox> Acquired(const Identity& identity) {
    absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = process_->pool().Acquire(identity);
    EXPECT_TRUE(sandbox.ok()) << sandbox.status();
    return sandbox.ok() ? *sandbox : nullptr;
  }
  // The machine's number: another one for every machine made.
  int64_t Serial(const Identity& identity) {
    const auto row = host_.registry().FindSandbox(SandboxIdOf(identity));
    if (!row.ok() || !row->has_value()) return 0;
    const std::optional<FakeMachine> machine = host_.machines().Find((*row)->machine_id);
    return machine.has_value() ? machine->serial : 0;
  }
  std::string State(const Identity& identity) {
    const auto row = host_.registry().FindSandbox(SandboxIdOf(identity));
    return row.ok() && row->has_value() ? std::string(StateName((*row)->state)) : "none";
  }
  void FailKills(Kind kind) {
    host_.machines().SetFaults([kind](FakeCall call, const std::string&) {
      return FakeFault{.kind = call == FakeCall::kKill ? kind : Kind::kNone};
    });
  }

  PoolHost host_;
  std::unique_ptr<PoolProcess> process_;
};

// L-20, L-40: active, warm, create.
TEST_F(SandboxPoolTest, IdentityKeepsItsMachineThroughReleaseAndAcquire) {
  SandboxPool& pool = Start();
  const std::shared_ptr<Sandbox> sandbox = Acquired(kAda);
  EXPECT_EQ(sandbox->id(), SandboxIdOf(kAda));
  EXPECT_TRUE(sandbox->WriteFile("f", "x").ok());
  EXPECT_EQ(Acquired(kAda), sandbox) << "active: the same object";
  EXPECT_EQ(pool.Get(sandbox->id()), sandbox);
  EXPECT_TRUE(pool.Release(sandbox->id()).ok());
  EXPECT_EQ(State(kAda), "warm");
  EXPECT_EQ(pool.Get(sandbox->id()), nullptr);
  EXPECT_EQ(Acquired(kAda)->ReadFile("f")->bytes, "x");
  EXPECT_EQ(host_.machines().created(), 1);
  EXPECT_TRUE(pool.Release("unknown").ok());
}

TEST_F(SandboxPoolTest, WhatWasReleasedReachesNothingAnyMore) {
  SandboxPool& pool = Start();
  const std::shared_ptr<Sandbox> old = Acquired(kAda);
  EXPECT_TRUE(pool.Release(old->id()).ok());
  EXPECT_TRUE(IsRetryable(old->WriteFile("f", "x")));
  const std::shared_ptr<Sandbox> fresh = Acquired(kAda);
  EXPECT_FALSE(old->WriteFile("f", "x").ok()) << "also when it is active again";
  EXPECT_TRUE(fresh->WriteFile("f", "x").ok());
}

// L-22
TEST_F(SandboxPoolTest, DeadWrongOrSilentWarmMachineIsReplacedUnderTheSameId) {
  SandboxPool& pool = Start();
  const std::string id = Acquired(kAda)->id();
  const std::vector<std::function<void()>> damages = {
      [&] { host_.machines().Die(id); }, [&] { host_.machines().SetUnresponsive(id); },
      [&] { EXPECT_TRUE(host_.machines().Kill(id).ok()); },
      [&] {
        // Another machine under its name.
        EXPECT_TRUE(host_.machines().Kill(id).ok());
        std::vector<Stage> stages;
        EXPECT_TRUE(host_.machines().Create({.id = id}, Deadline::Infinite(), &stages).ok());
      }};
  for (const std::function<void()>& damage : damages) {
    const int64_t before = Serial(kAda);
    EXPECT_TRUE(pool.Release(id).ok());
    damage();
    EXPECT_EQ(Acquired(kAda)->id(), id);
    EXPECT_GT(Serial(kAda), before);
    EXPECT_EQ(host_.machines().Machines().size(), 1u);
  }
}

// L-24
TEST_F(SandboxPoolTest, FailureThatSaysNothingOfTheMachineIsSurfacedAndKeepsIt) {
  SandboxPool& pool = Start();
  const std::string id = Acquired(kAda)->id();
  const int64_t serial = Serial(kAda);
  EXPECT_TRUE(pool.Release(id).ok());
  process_->access().SetCheckResult(
      MakeError(absl::StatusCode::kUnavailable, "try later", {.fate = Fate::kRetryable}));
  EXPECT_TRUE(IsRetryable(pool.Acquire(kAda).status()));
  process_->access().SetCheckResult(absl::OkStatus());
  Acquired(kAda);
  EXPECT_EQ(Serial(kAda), serial);
}

// L-23
TEST_F(SandboxPoolTest, RecentlyParkedMachineIsHandedOutUncheckedOnlyWithinItsTime) {
  SandboxPool& pool = Start({.health_check_skip = absl::Seconds(10)});
  const std::string id = Acquired(kAda)->id();
  EXPECT_TRUE(pool.Release(id).ok());
  host_.clock().Advance(absl::Seconds(9));
  Acquired(kAda);
  EXPECT_EQ(process_->access().checks(), 0);
  EXPECT_TRUE(pool.Release(id).ok());
  host_.clock().Advance(absl::Seconds(10));
  Acquired(kAda);
  EXPECT_EQ(process_->access().checks(), 1);
  EXPECT_TRUE(pool.Reset().ok());  // L-43
  Acquired(kAda);
  EXPECT_EQ(process_->access().checks(), 2) << "what a reset parked is checked";
}

// L-13
TEST_F(SandboxPoolTest, MachineOfAnotherTenantIsNeverHandedOverNorHarmed) {
  SandboxPool& pool = Start();
  // Somebody else's, under the id of Ada's.
  ASSERT_TRUE(host_.registry()
                  .Transact([&](Registry::View& view) {
                    return view.Insert({.machine_id = "m",
                                        .sandbox_id = SandboxIdOf(kAda),
                                        .tenancy = Tenancy::kThread,
                                        .identity = kBob,
                                        .state = MachineState::kWarm,
                                        .owner = process_->owner()});
                  })
                  .ok());
  const absl::Status status = pool.Acquire(kAda).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("belongs to user \"bob\""));
  EXPECT_EQ(State(kAda), "warm");
  EXPECT_EQ(host_.machines().created(), 0);
}

// L-12, D-74
TEST_F(SandboxPoolTest, AnonymousSandboxesDifferAndAreRemovedOnRelease) {
  SandboxPool& pool = Start();
  const std::shared_ptr<Sandbox> one = *pool.AcquireAnonymous();
  const std::shared_ptr<Sandbox> two = *pool.AcquireAnonymous();
  EXPECT_NE(one->id(), two->id());
  EXPECT_TRUE(pool.Release(one->id()).ok());
  EXPECT_EQ(host_.machines().Machines().size(), 1u);
  EXPECT_EQ(pool.List()->size(), 1u);
}

// L-61
TEST_F(SandboxPoolTest, OldestWarmGivesWayAndActiveNever) {
  SandboxPool& pool = Start({.replicas = 2});
  Acquired(kAda);
  Acquired(kBob);
  EXPECT_TRUE(pool.Release(SandboxIdOf(kBob)).ok());
  host_.clock().Advance(absl::Seconds(1));
  EXPECT_TRUE(pool.Release(SandboxIdOf(kAda)).ok());
  Acquired(kCyd);
  EXPECT_EQ(State(kBob), "none");
  EXPECT_EQ(State(kAda), "warm");
  Acquired(kAda);
  Acquired(kBob);
  EXPECT_EQ(pool.List()->size(), 3u)
      << "burst: the limit is exceeded rather than an active one hurt";
}

// O-21
TEST_F(SandboxPoolTest, FullPoolRejectsOrWaitsByPolicyAndNamesTheLimit) {
  for (const OverflowPolicy policy : {OverflowPolicy::kReject, OverflowPolicy::kWait}) {
    SandboxPool& pool = Start({.replicas = 1, .overflow_policy = policy});
    Acquired(kAda);
    const absl::Duration before = host_.clock().Now();
    const absl::Status status = pool.Acquire(kBob).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_TRUE(IsRetryable(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("all 1 sandboxes (replicas)"));
    EXPECT_EQ(host_.clock().Now() - before >= absl::Seconds(30), policy == OverflowPolicy::kWait);
    EXPECT_EQ(pool.List()->size(), 1u);
    EXPECT_TRUE(pool.Shutdown().ok());
  }
}

TEST_F(SandboxPoolTest, WaiterGetsTheRoomThatAReleaseMakes) {
  host_.clock().WaitForReal();
  SandboxPool& pool = Start({.replicas = 1, .overflow_policy = OverflowPolicy::kWait});
  Acquired(kAda);
  std::thread waiter([&] { EXPECT_TRUE(pool.Acquire(kBob).ok()); });
  EXPECT_TRUE(pool.Release(SandboxIdOf(kAda)).ok());
  waiter.join();
  EXPECT_EQ(State(kAda), "none");
  EXPECT_EQ(State(kBob), "active");
}

// L-62
TEST_F(SandboxPoolTest, WarmMachineIsReapedWhenItIsOlderThanTheTimeout) {
  SandboxPool& pool = Start({.idle_timeout = absl::Seconds(60)});
  Acquired(kAda);
  Acquired(kBob);
  EXPECT_TRUE(pool.Release(SandboxIdOf(kAda)).ok());
  host_.clock().Advance(absl::Seconds(60));
  pool.Maintain();
  EXPECT_EQ(State(kAda), "warm") << "not older yet";
  host_.clock().Advance(absl::Milliseconds(1));
  pool.Maintain();
  EXPECT_EQ(State(kAda), "none");
  EXPECT_EQ(State(kBob), "active") << "an active one is not idle";
}

TEST_F(SandboxPoolTest, TimeoutOfZeroReapsNothing) {
  SandboxPool& pool = Start({.idle_timeout = absl::ZeroDuration()});
  EXPECT_TRUE(pool.Release(Acquired(kAda)->id()).ok());
  host_.clock().Advance(absl::Hours(1000));
  pool.Maintain();
  EXPECT_EQ(State(kAda), "warm");
}

// D-68
TEST_F(SandboxPoolTest, OperationInFlightKeepsTheMachineFromBeingParkedEvictedAndReaped) {
  SandboxPool& pool = Start({.replicas = 1, .idle_timeout = absl::Seconds(60)});
  const std::shared_ptr<Sandbox> sandbox = Acquired(kAda);
  absl::StatusOr<std::unique_ptr<Execution>> execution = sandbox->Start(Command::Shell("sleep 9"));
  ASSERT_TRUE(execution.ok()) << execution.status();
  EXPECT_TRUE(pool.Release(sandbox->id()).ok());
  EXPECT_EQ(State(kAda), "active");
  Acquired(kBob);
  host_.clock().Advance(absl::Seconds(61));
  pool.Maintain();
  EXPECT_EQ(State(kAda), "active");
  execution->reset();
  EXPECT_EQ(State(kAda), "warm") << "the release takes effect when the operation ends";
}

TEST_F(SandboxPoolTest, AcquireTakesBackAReleaseThatWasPutOff) {
  SandboxPool& pool = Start();
  const std::shared_ptr<Sandbox> sandbox = Acquired(kAda);
  absl::StatusOr<std::unique_ptr<Execution>> execution = sandbox->Start(Command::Shell("sleep 9"));
  EXPECT_TRUE(pool.Release(sandbox->id()).ok());
  EXPECT_EQ(Acquired(kAda), sandbox);
  execution->reset();
  pool.Maintain();
  EXPECT_EQ(State(kAda), "active");
}

// L-52, L-53
TEST_F(SandboxPoolTest, TerminalFailureEvictsAndTheNextAcquireRebuilds) {
  Start();
  const std::shared_ptr<Sandbox> old = Acquired(kAda);
  host_.machines().Die(old->id());
  EXPECT_TRUE(IsTerminal(old->WriteFile("f", "x")));
  EXPECT_EQ(State(kAda), "none");
  const std::shared_ptr<Sandbox> fresh = Acquired(kAda);
  EXPECT_EQ(fresh->id(), old->id());
  EXPECT_FALSE(old->WriteFile("f", "x").ok());
  EXPECT_EQ(State(kAda), "active") << "a stale object does not evict its successor";
  EXPECT_TRUE(fresh->WriteFile("f", "x").ok());
  EXPECT_EQ(fresh->ReadFile("missing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(State(kAda), "active") << "an ordinary error harms nothing";
}

TEST_F(SandboxPoolTest, DestroyWinsOverOperationsInFlight) {
  SandboxPool& pool = Start();
  const std::shared_ptr<Sandbox> sandbox = Acquired(kAda);
  const absl::StatusOr<std::unique_ptr<Execution>> execution =
      sandbox->Start(Command::Shell("sleep 9"));
  EXPECT_TRUE(pool.Destroy(sandbox->id()).ok());
  EXPECT_TRUE(host_.machines().Machines().empty());
  EXPECT_EQ(pool.Destroy(sandbox->id()).code(), absl::StatusCode::kNotFound);
}

// D-62, O-20
TEST_F(SandboxPoolTest, FailedRemovalStaysOnRecordIsReportedAndTriedAgain) {
  SandboxPool& pool = Start();
  Acquired(kAda);
  FailKills(Kind::kFail);
  EXPECT_TRUE(IsRetryable(pool.Destroy(SandboxIdOf(kAda))));
  EXPECT_EQ(State(kAda), "terminating");
  EXPECT_FALSE(pool.Acquire(kAda).ok()) << "no second machine while the first may run";
  FailKills(Kind::kNone);
  pool.Maintain();
  EXPECT_EQ(State(kAda), "terminating") << "not before its pause is over";
  host_.clock().Advance(absl::Minutes(1));
  pool.Maintain();
  EXPECT_EQ(State(kAda), "none");
  EXPECT_TRUE(host_.machines().Machines().empty());
}

TEST_F(SandboxPoolTest, RemovalThatFailedThoughItWasDoneIsSettledByTheNextAcquire) {
  SandboxPool& pool = Start();
  Acquired(kAda);
  FailKills(Kind::kFailDone);
  EXPECT_FALSE(pool.Destroy(SandboxIdOf(kAda)).ok());
  FailKills(Kind::kNone);
  Acquired(kAda);
  EXPECT_EQ(host_.machines().Machines().size(), 1u);
}

// L-30, D-63
TEST_F(SandboxPoolTest, FailedCreationLeavesNothing) {
  SandboxPool& pool = Start({.replicas = 1, .overflow_policy = OverflowPolicy::kReject});
  for (const Kind kind : {Kind::kFail, Kind::kFailDone, Kind::kFailHalf, Kind::kDie}) {
    host_.machines().SetFaults([kind](FakeCall call, const std::string&) {
      return FakeFault{.kind = call == FakeCall::kCreate ? kind : Kind::kNone};
    });
    EXPECT_FALSE(pool.Acquire(kAda).ok());
    EXPECT_TRUE(host_.machines().Machines().empty());
    EXPECT_TRUE(pool.List()->empty()) << "its room is free again";
  }
  host_.machines().SetFaults(nullptr);
  Acquired(kAda);
}

TEST_F(SandboxPoolTest, SomebodysOwnMachineUnderTheNameIsLeftAlone) {
  SandboxPool& pool = Start();
  std::vector<Stage> stages;
  ASSERT_TRUE(
      host_.machines().Create({.id = SandboxIdOf(kAda)}, Deadline::Infinite(), &stages).ok());
  EXPECT_EQ(pool.Acquire(kAda).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(host_.machines().Machines().size(), 1u);
  EXPECT_TRUE(pool.List()->empty());
}

TEST_F(SandboxPoolTest, BlankIsClaimedOnceAndIsNobodyElsesAfter) {
  SandboxPool& pool = Start({.blanks = 1});
  ASSERT_TRUE(pool.Recover().ok());
  EXPECT_EQ(host_.machines().created(), 1);
  const std::shared_ptr<Sandbox> ada = Acquired(kAda);
  EXPECT_EQ(ada->id(), SandboxIdOf(kAda));
  EXPECT_EQ(Serial(kAda), 1) << "no new machine";
  EXPECT_TRUE(ada->WriteFile("f", "x").ok());
  Acquired(kBob);
  EXPECT_EQ(Serial(kBob), 2);
  pool.Maintain();
  EXPECT_EQ(pool.List()->size(), 3u) << "filled up again";
  EXPECT_TRUE(pool.Release(ada->id()).ok());
  EXPECT_EQ(Acquired(kAda)->ReadFile("f")->bytes, "x") << "reclaimed by its name on record";
}

TEST_F(SandboxPoolTest, DeadBlankIsReplacedByANewMachine) {
  SandboxPool& pool = Start({.blanks = 1});
  ASSERT_TRUE(pool.Recover().ok());
  host_.machines().Die(host_.machines().Machines()[0].info.id);
  Acquired(kAda);
  EXPECT_EQ(host_.machines().Machines().size(), 1u);
  EXPECT_EQ(host_.machines().created(), 2);
}

// L-41, L-44, D-65
TEST_F(SandboxPoolTest, ShutdownRemovesEverythingAndRefusesAcquires) {
  SandboxPool& pool = Start({.blanks = 1});
  ASSERT_TRUE(pool.Recover().ok());
  Acquired(kAda);
  Acquired(kBob);
  EXPECT_TRUE(pool.Release(SandboxIdOf(kBob)).ok());
  const std::string stubborn = SandboxIdOf(kBob);
  host_.machines().SetFaults([&](FakeCall call, const std::string& id) {
    return FakeFault{.kind = call == FakeCall::kKill && id == stubborn ? Kind::kFail : Kind::kNone};
  });
  EXPECT_FALSE(pool.Shutdown().ok());
  EXPECT_EQ(host_.machines().Machines().size(), 1u) << "one that fails does not stop the others";
  EXPECT_EQ(pool.Acquire(kAda).status().code(), absl::StatusCode::kFailedPrecondition);
  host_.machines().SetFaults(nullptr);
  EXPECT_TRUE(pool.Shutdown().ok());
  EXPECT_TRUE(host_.machines().Machines().empty());
  EXPECT_TRUE(pool.List()->empty());
}

// L-43
TEST_F(SandboxPoolTest, ResetParksWhatIsActiveAndKeepsItsMachines) {
  SandboxPool& pool = Start();
  Acquired(kAda);
  EXPECT_TRUE(pool.Reset().ok());
  EXPECT_EQ(State(kAda), "warm");
  host_.clock().Advance(absl::Minutes(11));
  pool.Maintain();
  EXPECT_EQ(State(kAda), "none");
}

TEST_F(SandboxPoolTest, ManyCallersOfOneIdentityShareOneMachine) {
  host_.clock().WaitForReal();
  SandboxPool& pool = Start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] { EXPECT_TRUE(pool.Acquire(kAda).ok()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(host_.machines().created(), 1);
}

// D-61
TEST_F(SandboxPoolTest, RacingCallersNeverOvershootTheLimit) {
  host_.clock().WaitForReal();
  SandboxPool& pool = Start({.replicas = 3, .overflow_policy = OverflowPolicy::kReject});
  std::atomic<int> acquired{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      const absl::Status status = pool.Acquire({.thread = std::to_string(i)}).status();
      if (status.ok()) ++acquired;
      EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(acquired.load(), 3);
  EXPECT_EQ(host_.machines().created(), 3);
}

TEST_F(SandboxPoolTest, HangingCreationHoldsUpNobodyElse) {
  host_.clock().WaitForReal();
  SandboxPool& pool = Start();
  host_.machines().SetFaults([](FakeCall call, const std::string& id) {
    const bool ada = call == FakeCall::kCreate && id == SandboxIdOf(kAda);
    return FakeFault{.kind = ada ? Kind::kHang : Kind::kNone};
  });
  std::thread slow([&] { EXPECT_TRUE(pool.Acquire(kAda).ok()); });
  host_.machines().WaitUntilHanging(1);
  Acquired(kBob);
  EXPECT_TRUE(pool.Release(SandboxIdOf(kBob)).ok());
  pool.Maintain();
  EXPECT_EQ(State(kAda), "creating");
  host_.machines().Unhang();
  slow.join();
}

// O-32
TEST_F(SandboxPoolTest, MachineThatIsReadyAfterShutdownBeganIsRemoved) {
  host_.clock().WaitForReal();
  SandboxPool& pool = Start();
  host_.machines().SetFaults([](FakeCall call, const std::string&) {
    return FakeFault{.kind = call == FakeCall::kCreate ? Kind::kHang : Kind::kNone};
  });
  std::thread slow([&] {
    EXPECT_EQ(pool.Acquire(kAda).status().code(), absl::StatusCode::kFailedPrecondition);
  });
  host_.machines().WaitUntilHanging(1);
  EXPECT_TRUE(pool.Shutdown().ok());
  host_.machines().Unhang();
  slow.join();
  EXPECT_TRUE(host_.machines().Machines().empty());
  EXPECT_TRUE(pool.List()->empty());
}

TEST_F(SandboxPoolTest, MaintainingThreadReapsByItselfAndStopsWithThePool) {
  host_.clock().WaitForReal();
  SandboxPool& pool = Start({.idle_timeout = absl::Seconds(60)});
  EXPECT_TRUE(pool.Release(Acquired(kAda)->id()).ok());
  host_.clock().Advance(absl::Seconds(61));
  pool.StartMaintaining();
  pool.StartMaintaining();
  const Deadline deadline = Deadline::After(absl::Seconds(30));
  while (State(kAda) != "none" && !deadline.Expired()) std::this_thread::yield();
  EXPECT_EQ(State(kAda), "none");
}

}  // namespace
}  // namespace cubby
