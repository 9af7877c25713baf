// A host for pool tests: machines in memory, a real registry, time that moves when the test says,
// and processes that can die between any two of their calls.
#ifndef CUBBY_POOL_TESTING_POOL_WORLD_H_
#define CUBBY_POOL_TESTING_POOL_WORLD_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "cubby/backend/testing/fake_backend.h"
#include "cubby/base/file.h"
#include "cubby/pool/sandbox_pool.h"
#include "cubby/pool/testing/fake_access.h"

namespace cubby {

class FakeClock : public PoolClock {
 public:
  absl::Duration Now() override { return absl::Nanoseconds(now_ns_.load()); }
  absl::Time WallNow() override { return absl::UnixEpoch() + Now(); }
  // Nobody sleeps: waiting makes the time pass, and lets other threads run.
  void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            absl::Duration at_most) override;
  void Advance(absl::Duration duration) { now_ns_ += absl::ToInt64Nanoseconds(duration); }
  // For tests with threads: waiting waits, and time stands still meanwhile.
  void WaitForReal() { real_ = true; }

 private:
  std::atomic<int64_t> now_ns_{int64_t{3600} * 1000000000};
  bool real_ = false;
};

class PoolHost;

// A process with one pool. Once dead it has no effect on anything.
class PoolProcess {
 public:
  PoolProcess(PoolHost* host, PoolSettings settings);
  ~PoolProcess();

  SandboxPool& pool() { return *pool_; }
  FakeAccess& access() { return *access_; }
  [[nodiscard]] const Owner& owner() const { return owner_; }
  [[nodiscard]] bool alive() const { return alive_; }

  void Die();
  // Dies at the `calls`-th call from now that reaches outside.
  void DieAfter(int calls) { fuse_ = calls; }
  void Survive() { fuse_ = -1; }

  // CANCELLED when dead: what every call from a dead process comes to.
  absl::Status Gate();

 private:
  PoolHost* const host_;
  const Owner owner_;
  std::atomic<bool> alive_{true};
  std::atomic<int> fuse_{-1};
  std::shared_ptr<FakeAccess> access_;
  std::shared_ptr<SandboxPool> pool_;
};

class PoolHost {
 public:
  PoolHost();

  std::unique_ptr<PoolProcess> Start(PoolSettings settings) {
    return std::make_unique<PoolProcess>(this, std::move(settings));
  }

  FakeBackend& machines() { return machines_; }
  FakeClock& clock() { return *clock_; }
  Registry& registry() { return *registry_; }
  bool IsAlive(const std::string& owner_id);
  [[nodiscard]] std::string registry_path() const { return folder_.path() + "/registry.db"; }

 private:
  friend class PoolProcess;
  class Liveness;

  std::string NewId();

  TemporaryDirectory folder_;
  FakeBackend machines_;
  const std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::unique_ptr<Registry> registry_;  // the test's own view
  std::mutex mutex_;
  std::set<std::string> living_;
  int64_t last_id_ = 0;
};

}  // namespace cubby

#endif  // CUBBY_POOL_TESTING_POOL_WORLD_H_
