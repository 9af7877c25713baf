// A pool of sandboxes for the threads of users: acquired, released, kept warm, reaped.
//
// What is true of a machine is in the registry, which several processes share; a pool keeps in
// memory only what it does with the machines that it holds leases of. No lock is held while a
// backend, an agent or the registry is asked, except the guard of the one sandbox concerned, so
// different sandboxes never wait for each other.
#ifndef CUBBY_POOL_SANDBOX_POOL_H_
#define CUBBY_POOL_SANDBOX_POOL_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cubby/backend/backend.h"
#include "cubby/config.h"
#include "cubby/pool/identity.h"
#include "cubby/pool/lease_store.h"
#include "cubby/pool/machine_access.h"
#include "cubby/pool/pool_clock.h"
#include "cubby/pool/registry.h"
#include "cubby/pool/usage.h"
#include "cubby/sandbox.h"

namespace cubby {

struct PoolSettings {
  SandboxSpec machine;  // what every machine is made like; its id is the pool's
  int replicas = 3;     // active and warm ones, of all pools that share the registry
  OverflowPolicy overflow_policy = OverflowPolicy::kBurst;
  absl::Duration acquire_timeout = absl::Seconds(30);  // to wait for room or for another process
  absl::Duration idle_timeout = absl::Seconds(600);    // zero: warm machines stay
  // A machine that this pool parked so recently is handed out again without a check.
  absl::Duration health_check_skip = absl::ZeroDuration();
  absl::Duration health_check_timeout = absl::Seconds(5);
  int blanks = 0;  // machines kept ready for new identities; not counted by `replicas`
};

// Everything outside.
struct PoolWorld {
  std::shared_ptr<Backend> backend;
  std::shared_ptr<MachineAccess> access;
  std::shared_ptr<Registry> registry;
  std::shared_ptr<LeaseStore> leases;
  std::shared_ptr<OwnerLiveness> liveness;
  std::shared_ptr<PoolClock> clock;
  std::function<std::string()> new_id;   // 16 hex digits, never the same; empty: random
  Owner owner;                           // alive until the pool has ended
  std::shared_ptr<Heartbeat> heartbeat;  // by this, where owners have one
};

class SandboxPool : public std::enable_shared_from_this<SandboxPool> {
 public:
  static std::shared_ptr<SandboxPool> Make(PoolSettings settings, PoolWorld world);
  // Leaves the machines as they are: the next pool finds them.
  ~SandboxPool();

  // Takes over or removes what dead owners left, looks for machines that are on no record, and
  // fills up the blanks. A machine that cannot be settled now is settled by a later Maintain.
  absl::Status Recover();

  // The identity's sandbox: the active one, its warm one, a blank, or a new one. However many call,
  // in however many processes, there is one. FAILED_PRECONDITION: after Shutdown began, or when the
  // id belongs to another identity. RESOURCE_EXHAUSTED: no room, by policy.
  absl::StatusOr<std::shared_ptr<Sandbox>> Acquire(const Identity& identity);
  // For nobody in particular; it is removed when it is released.
  absl::StatusOr<std::shared_ptr<Sandbox>> AcquireAnonymous();

  // An active sandbox of this pool, or null. Asks nobody.
  std::shared_ptr<Sandbox> Get(const std::string& sandbox_id);

  // Parks it (removes it when it is anonymous), as soon as no operation is in flight. What callers
  // still hold of it does nothing from then on. An unknown id is fine.
  absl::Status Release(const std::string& sandbox_id);

  // Removes it whatever it does and whoever holds it. NOT_FOUND. When it fails the machine stays on
  // record as terminating, and its removal is tried again.
  absl::Status Destroy(const std::string& sandbox_id);

  // Parks all that is active; the machines run on.
  absl::Status Reset();

  // Removes all machines of this pool; acquires fail from now on. May be repeated after a failure.
  absl::Status Shutdown();

  // All machines on record, of this and other pools.
  absl::StatusOr<std::vector<MachineRow>> List();

  // One pass of what has to be done from time to time: leases, removals that failed, parking that
  // was put off, idle machines, dead owners, blanks.
  void Maintain();
  // Maintain twice a second, in a thread of the pool.
  void StartMaintaining();

 private:
  struct Entry {
    std::string machine_id;
    std::string nonce;
    Tenancy tenancy = Tenancy::kNobody;
    Lease lease;
    bool active = false;
    std::shared_ptr<Usage> usage;      // of an active one
    std::shared_ptr<Sandbox> sandbox;  // of an active one
    bool release_wanted = false;       // when no operation is in flight any more
    absl::Duration parked_at;          // of a warm one
    bool recently_parked = false;      // by this pool, through Release
  };
  // The right to work on one sandbox (or machine without one) in this process.
  class Guard {
   public:
    Guard(SandboxPool* pool, std::string key) : pool_(pool), key_(std::move(key)) {}
    Guard(Guard&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), key_(std::move(other.key_)) {}
    Guard& operator=(Guard&&) = delete;
    ~Guard();

   private:
    SandboxPool* pool_;
    std::string key_;
  };
  // What a try to acquire came to: a sandbox, or something to wait for, or neither: try again.
  struct Outcome {
    std::shared_ptr<Sandbox> sandbox;
    absl::Status waiting_for;  // not OK: what the caller is told when he has waited for too long
  };
  struct Tenant {
    std::string sandbox_id;
    Tenancy tenancy = Tenancy::kNobody;
    Identity identity;
  };
  enum class Room { kFound, kNone };

  SandboxPool(PoolSettings settings, PoolWorld world);

  // guards.cc
  Guard WaitForGuard(const std::string& key);
  std::optional<Guard> TryGuard(const std::string& key);
  void WaitForChange();
  void NotifyChanged();
  bool IsClosing();
  std::optional<Entry> FindEntry(const std::string& sandbox_id);
  std::vector<std::pair<std::string, Entry>> Entries();
  // Forgets the sandbox or blank, and ends its hand-over. Its machine is not touched.
  void Forget(const std::string& sandbox_id, const std::string& machine_id);
  // Changes the row of a machine whose lease we have.
  absl::StatusOr<MachineRow> Rewrite(const Lease& lease,
                                     const std::function<absl::Status(MachineRow&)>& change);
  void ReleaseLease(const Lease& lease);

  // acquire.cc; the guard of the tenant is held
  absl::StatusOr<std::shared_ptr<Sandbox>> AcquireFor(const Tenant& tenant);
  absl::StatusOr<Outcome> TryAcquire(const Tenant& tenant);
  absl::StatusOr<Outcome> Reclaim(const Tenant& tenant, const MachineRow& found);
  absl::StatusOr<Outcome> FinishRemoval(const MachineRow& row);
  absl::StatusOr<Outcome> HandOver(const Tenant& tenant, const MachineRow& row, const Lease& lease,
                                   std::shared_ptr<Sandbox> inner);

  // creation.cc; the guard of the tenant is held
  absl::StatusOr<Outcome> ClaimBlank(const Tenant& tenant);
  absl::StatusOr<Outcome> CreateFor(const Tenant& tenant);
  // From the row on, which is on record: the machine, until its agent is ready. When it fails
  // nothing is left.
  absl::StatusOr<std::shared_ptr<Sandbox>> MakeMachine(const MachineRow& row, const Lease& lease);
  void GiveUpCreated(const MachineRow& row);
  bool NeedsBlank();
  absl::Status FillBlanks();
  absl::Status MakeBlank();
  MachineRow NewRow(const Tenant& tenant, const std::string& machine_id, const Lease& lease);

  // capacity.cc
  // `write` in one transaction with the count, so that racers never overshoot. kNone: wait.
  absl::StatusOr<Room> Reserve(const std::function<absl::Status(Registry::View&)>& write);
  Room EvictOldestWarm();
  absl::Status NoRoom();

  // removal.cc; the guard of the sandbox is held
  absl::StatusOr<Lease> LeaseForRemoval(const std::string& machine_id);
  absl::Status RemoveMachine(const MachineRow& row, Lease lease, absl::string_view reason);
  absl::Status RemoveEntry(const std::string& sandbox_id, const Entry& entry,
                           absl::string_view reason);

  // release.cc; the guard of the sandbox is held by ReleaseGuarded alone
  absl::Status ReleaseGuarded(const std::string& sandbox_id);
  void OnIdle(const std::string& sandbox_id);
  void OnTerminated(const std::string& sandbox_id, const Usage* usage, const absl::Status& why);

  // reaper.cc
  void RenewLeases();
  void RenewLease(const std::string& sandbox_id, const Entry& entry);
  void RetryRemovals();
  void ParkReleased();
  void ReapIdle();
  void MaintainInThread();

  // recovery.cc
  absl::Status RecoverRows();
  absl::Status RecoverUnrecorded();
  absl::Status Settle(const MachineRow& seen);
  absl::Status Adopt(const MachineRow& row, const Lease& lease);
  absl::Status RemoveUnrecorded(const MachineInfo& machine);

  const PoolSettings settings_;
  const PoolWorld world_;

  std::mutex mutex_;
  std::condition_variable changed_;       // anything below, or room in the registry
  std::set<std::string> guarded_;         // sandbox ids; machine ids of those without
  std::map<std::string, Entry> entries_;  // by sandbox id
  std::map<std::string, Entry> blanks_;   // by machine id
  bool closing_ = false;
  bool stopping_ = false;
  std::thread maintainer_;
};

}  // namespace cubby

#endif  // CUBBY_POOL_SANDBOX_POOL_H_
