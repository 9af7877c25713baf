// Leases in the registry's database: for the processes of one host.
#ifndef CUBBY_POOL_SQLITE_LEASE_STORE_H_
#define CUBBY_POOL_SQLITE_LEASE_STORE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cubby/pool/database.h"
#include "cubby/pool/lease_store.h"

namespace cubby {

class SqliteLeaseStore : public LeaseStore {
 public:
  struct Options {
    std::shared_ptr<Database> database;   // of Registry::OpenDatabase
    OwnerLiveness* liveness = nullptr;    // outlives the store
    std::function<absl::Duration()> now;  // monotonic, the same in all processes of the boot
    std::string boot_id;
    absl::Duration time_to_live = absl::Seconds(120);
  };
  explicit SqliteLeaseStore(Options options) : options_(std::move(options)) {}

  absl::StatusOr<Lease> Acquire(const std::string& machine_id, const Owner& owner) override;
  absl::StatusOr<Lease> TakeOver(const std::string& machine_id, const Owner& owner) override;
  absl::Status Renew(const Lease& lease) override;
  absl::Status MarkTeardown(const Lease& lease) override;
  absl::Status Release(const Lease& lease) override;
  absl::StatusOr<std::optional<LeaseHolder>> Holder(const std::string& machine_id) override;

 private:
  // Inside a transaction. Nothing when the lease has lapsed.
  absl::StatusOr<std::optional<LeaseHolder>> Read(const std::string& machine_id);
  absl::StatusOr<Lease> Grant(const std::string& machine_id, const Owner& owner);
  absl::Status Extend(const Lease& lease, std::optional<LeaseKind> kind);

  const Options options_;
};

}  // namespace cubby

#endif  // CUBBY_POOL_SQLITE_LEASE_STORE_H_
