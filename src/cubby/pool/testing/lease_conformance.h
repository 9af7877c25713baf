// What every LeaseStore must do. A store's test names its maker:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, LeaseConformanceTest, testing::Values(&MakeMemoryWorld));
#ifndef CUBBY_POOL_TESTING_LEASE_CONFORMANCE_H_
#define CUBBY_POOL_TESTING_LEASE_CONFORMANCE_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cubby/pool/lease_store.h"
#include "gtest/gtest.h"

namespace cubby {

class LeaseWorld {
 public:
  virtual ~LeaseWorld() = default;
  virtual LeaseStore& store() = 0;
  virtual void Advance(absl::Duration duration) = 0;
  virtual Owner MakeOwner() = 0;  // alive
};

inline constexpr absl::Duration kConformanceTimeToLive = absl::Seconds(100);

using LeaseWorldMaker = std::unique_ptr<LeaseWorld> (*)();

class LeaseConformanceTest : public testing::TestWithParam<LeaseWorldMaker> {
 protected:
  const std::unique_ptr<LeaseWorld> world_ = GetParam()();
  LeaseStore& store_ = world_->store();
  const Owner a_ = world_->MakeOwner();
  const Owner b_ = world_->MakeOwner();
};

// O-1, O-2
TEST_P(LeaseConformanceTest, LeaseExcludesOthersAndIsGivenAgainToItsOwner) {
  const absl::StatusOr<Lease> lease = store_.Acquire("m", a_);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(store_.Acquire("m", b_).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(*store_.Acquire("m", a_), *lease);
  const std::optional<LeaseHolder> holder = *store_.Holder("m");
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->owner, a_);
  EXPECT_EQ(holder->kind, LeaseKind::kKeep);
  EXPECT_TRUE(store_.Acquire("another", b_).ok());
}

TEST_P(LeaseConformanceTest, EveryNewHolderHasALargerFence) {
  const Lease first = *store_.Acquire("m", a_);
  ASSERT_TRUE(store_.Release(first).ok());
  const Lease second = *store_.Acquire("m", a_);
  EXPECT_GT(second.fence, first.fence) << "also the same owner's after a release";
  const Lease third = *store_.TakeOver("m", b_);
  EXPECT_GT(third.fence, second.fence);
  world_->Advance(kConformanceTimeToLive);
  EXPECT_GT(store_.Acquire("m", a_)->fence, third.fence);
}

TEST_P(LeaseConformanceTest, TakingOverWorksFromALivingHolderWhoThenHasLost) {
  const Lease old = *store_.Acquire("m", a_);
  const Lease taken = *store_.TakeOver("m", b_);
  EXPECT_EQ(store_.Renew(old).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(store_.MarkTeardown(old).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(store_.Release(old).ok());
  EXPECT_TRUE(store_.Renew(taken).ok()) << "a loser's release does not touch it";
  EXPECT_EQ(*store_.TakeOver("m", b_), taken);
}

// O-7, O-10
TEST_P(LeaseConformanceTest, TeardownIsNotTakenOverByAnyone) {
  const Lease lease = *store_.Acquire("m", a_);
  ASSERT_TRUE(store_.MarkTeardown(lease).ok());
  EXPECT_EQ(store_.Holder("m")->value().kind, LeaseKind::kTeardown);
  EXPECT_EQ(store_.TakeOver("m", b_).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(store_.TakeOver("m", a_).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(*store_.Acquire("m", a_), lease);
  EXPECT_TRUE(store_.Renew(lease).ok());
  EXPECT_EQ(store_.Holder("m")->value().kind, LeaseKind::kTeardown) << "it is never downgraded";
  ASSERT_TRUE(store_.Release(lease).ok());
  EXPECT_EQ(*store_.Holder("m"), std::nullopt);
  EXPECT_TRUE(store_.TakeOver("m", b_).ok());
}

// O-4, O-5
TEST_P(LeaseConformanceTest, LeaseLapsesExactlyWhenItIsNotRenewedInTime) {
  const Lease lease = *store_.Acquire("m", a_);
  world_->Advance(kConformanceTimeToLive - absl::Seconds(1));
  EXPECT_EQ(store_.Acquire("m", b_).status().code(), absl::StatusCode::kAborted);
  ASSERT_TRUE(store_.Renew(lease).ok());
  world_->Advance(kConformanceTimeToLive - absl::Seconds(1));
  EXPECT_TRUE(store_.Holder("m")->has_value());
  world_->Advance(absl::Seconds(1));
  EXPECT_EQ(*store_.Holder("m"), std::nullopt);
  EXPECT_EQ(store_.Renew(lease).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_.MarkTeardown(lease).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(store_.Acquire("m", b_).ok());
  EXPECT_EQ(store_.Renew(lease).code(), absl::StatusCode::kAborted);
}

TEST_P(LeaseConformanceTest, CrashedRemoverDoesNotHoldTheMachineForEver) {
  ASSERT_TRUE(store_.MarkTeardown(*store_.Acquire("m", a_)).ok());
  world_->Advance(kConformanceTimeToLive);
  EXPECT_TRUE(store_.Acquire("m", b_).ok());
}

TEST_P(LeaseConformanceTest, OneOfManyRacersWins) {
  std::atomic<int> winners{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, owner = world_->MakeOwner()] {
      const absl::StatusOr<Lease> lease = store_.Acquire("m", owner);
      if (lease.ok()) ++winners;
      EXPECT_TRUE(lease.ok() || absl::IsAborted(lease.status())) << lease.status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(winners.load(), 1);
}

}  // namespace cubby

#endif  // CUBBY_POOL_TESTING_LEASE_CONFORMANCE_H_
