// Leases in memory, for tests: time stands still unless moved, and the store can be out of reach or
// lose all that it knew.
#ifndef CUBBY_POOL_TESTING_MEMORY_LEASE_STORE_H_
#define CUBBY_POOL_TESTING_MEMORY_LEASE_STORE_H_

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "cubby/pool/lease_store.h"

namespace cubby {

class MemoryLeaseStore : public LeaseStore {
 public:
  MemoryLeaseStore(std::function<absl::Duration()> now, absl::Duration time_to_live)
      : now_(std::move(now)), time_to_live_(time_to_live) {}

  void SetReachable(absl::Status status);  // other than OK: what every call answers
  void LoseEverything();

  absl::StatusOr<Lease> Acquire(const std::string& machine_id, const Owner& owner) override;
  absl::StatusOr<Lease> TakeOver(const std::string& machine_id, const Owner& owner) override;
  absl::Status Renew(const Lease& lease) override;
  absl::Status MarkTeardown(const Lease& lease) override;
  absl::Status Release(const Lease& lease) override;
  absl::StatusOr<std::optional<LeaseHolder>> Holder(const std::string& machine_id) override;

 private:
  struct Entry {
    LeaseHolder holder;
    absl::Duration until;
  };
  enum class Claim { kFree, kFromAnyone };
  absl::StatusOr<Lease> Take(const std::string& machine_id, const Owner& owner, Claim claim);
  absl::Status Extend(const Lease& lease, std::optional<LeaseKind> kind);
  Entry* Current(const std::string& machine_id);

  const std::function<absl::Duration()> now_;
  const absl::Duration time_to_live_;
  std::mutex mutex_;
  absl::Status reachable_;
  std::map<std::string, Entry> entries_;
  int64_t last_fence_ = 0;
};

}  // namespace cubby

#endif  // CUBBY_POOL_TESTING_MEMORY_LEASE_STORE_H_
