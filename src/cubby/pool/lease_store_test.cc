#include "cubby/pool/lease_store.h"

#include <set>

#include "cubby/base/file.h"
#include "cubby/pool/registry.h"
#include "cubby/pool/sqlite_lease_store.h"
#include "cubby/pool/testing/lease_conformance.h"
#include "cubby/pool/testing/memory_lease_store.h"

namespace cubby {
namespace {

// Which owners live is what the test says.
class NamedLiveness : public OwnerLiveness {
 public:
  bool IsAlive(const Owner& owner) override { return !dead_.contains(owner.id); }
  void Kill(const Owner& owner) { dead_.insert(owner.id); }

 private:
  std::set<std::string> dead_;
};

class FakeTimeWorld : public LeaseWorld {
 public:
  void Advance(absl::Duration duration) override { now_ += duration; }
  Owner MakeOwner() override { return {.id = "owner-" + std::to_string(++owners_)}; }

 protected:
  absl::Duration now_ = absl::Hours(1);

 private:
  int owners_ = 0;
};

class MemoryWorld : public FakeTimeWorld {
 public:
  MemoryLeaseStore& store() override { return store_; }

 private:
  MemoryLeaseStore store_{[this] { return now_; }, kConformanceTimeToLive};
};

class SqliteWorld : public FakeTimeWorld {
 public:
  SqliteWorld() : folder_(*TemporaryDirectory::Create("/tmp", "cubby-leases-")) {
    store_ = std::make_unique<SqliteLeaseStore>(StoreOptions("this boot"));
  }
  SqliteLeaseStore& store() override { return *store_; }
  // A store of another process, or of another boot.
  SqliteLeaseStore::Options StoreOptions(const std::string& boot) {
    return {.database = *Registry::OpenDatabase(folder_.path() + "/registry.db"),
            .liveness = &liveness,
            .now = [this] { return now_; },
            .boot_id = boot,
            .time_to_live = kConformanceTimeToLive};
  }

  NamedLiveness liveness;

 private:
  TemporaryDirectory folder_;
  std::unique_ptr<SqliteLeaseStore> store_;
};

std::unique_ptr<LeaseWorld> MakeMemoryWorld() { return std::make_unique<MemoryWorld>(); }
std::unique_ptr<LeaseWorld> MakeSqliteWorld() { return std::make_unique<SqliteWorld>(); }

INSTANTIATE_TEST_SUITE_P(Memory, LeaseConformanceTest, testing::Values(&MakeMemoryWorld));
INSTANTIATE_TEST_SUITE_P(Sqlite, LeaseConformanceTest, testing::Values(&MakeSqliteWorld));

TEST(SqliteLeaseStoreTest, LeaseOfADeadOwnerLapsesAtOnce) {
  SqliteWorld world;
  const Owner a = world.MakeOwner();
  const Owner b = world.MakeOwner();
  const Lease lease = *world.store().Acquire("m", a);
  ASSERT_TRUE(world.store().MarkTeardown(lease).ok());
  EXPECT_TRUE(absl::IsAborted(world.store().Acquire("m", b).status()));
  world.liveness.Kill(a);
  EXPECT_GT(world.store().Acquire("m", b)->fence, lease.fence);
}

TEST(SqliteLeaseStoreTest, AnotherProcessSeesTheLeaseAndAnotherBootDoesNot) {
  SqliteWorld world;
  const Lease lease = *world.store().Acquire("m", world.MakeOwner());
  SqliteLeaseStore other(world.StoreOptions("this boot"));
  EXPECT_EQ(other.Holder("m")->value().fence, lease.fence);
  SqliteLeaseStore later(world.StoreOptions("next boot"));
  EXPECT_EQ(*later.Holder("m"), std::nullopt);
  EXPECT_GT(later.Acquire("m", world.MakeOwner())->fence, lease.fence);
}

// O-3, O-5
TEST(MemoryLeaseStoreTest, FaultsAreErrorsAndLostLeasesLapsed) {
  MemoryWorld world;
  const Owner a = world.MakeOwner();
  const Lease lease = *world.store().Acquire("m", a);
  world.store().SetReachable(absl::UnavailableError("no store"));
  EXPECT_EQ(world.store().Renew(lease).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(world.store().Holder("m").status().code(), absl::StatusCode::kUnavailable);
  world.store().SetReachable(absl::OkStatus());
  EXPECT_TRUE(world.store().Renew(lease).ok());
  world.store().LoseEverything();
  EXPECT_EQ(world.store().Renew(lease).code(), absl::StatusCode::kNotFound);
  EXPECT_GT(world.store().Acquire("m", a)->fence, lease.fence);
}

}  // namespace
}  // namespace cubby
