#include "cubby/pool/sqlite_lease_store.h"

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"

namespace cubby {
namespace {

absl::Status HeldByAnother(const std::string& machine_id, const LeaseHolder& holder) {
  return absl::AbortedError(absl::StrCat(
      "machine ", machine_id,
      holder.kind == LeaseKind::kTeardown ? " is being removed by owner " : " is held by owner ",
      holder.owner.id, " (process ", holder.owner.process.pid, ")"));
}

}  // namespace

absl::StatusOr<std::optional<LeaseHolder>> SqliteLeaseStore::Read(const std::string& machine_id) {
  Statement statement = options_.database->Prepare(
      "SELECT owner, owner_pid, owner_start, owner_boot, kind, fence, until_ns, until_boot"
      " FROM leases WHERE machine_id=?");
  CUBBY_ASSIGN_OR_RETURN(const bool found, statement.Bind(machine_id).Step());
  if (!found) return std::optional<LeaseHolder>();
  LeaseHolder holder;
  holder.owner.id = statement.Text();
  holder.owner.process.pid = static_cast<pid_t>(statement.Number());
  holder.owner.process.start_time = static_cast<uint64_t>(statement.Number());
  holder.owner.process.boot_id = statement.Text();
  holder.kind = statement.Number() == 0 ? LeaseKind::kKeep : LeaseKind::kTeardown;
  holder.fence = statement.Number();
  const absl::Duration until = absl::Nanoseconds(statement.Number());
  const bool same_boot = statement.Text() == options_.boot_id;
  if (!same_boot || until <= options_.now() || !options_.liveness->IsAlive(holder.owner)) {
    return std::optional<LeaseHolder>();
  }
  return std::optional<LeaseHolder>(std::move(holder));
}

absl::StatusOr<Lease> SqliteLeaseStore::Grant(const std::string& machine_id, const Owner& owner) {
  CUBBY_RETURN_IF_ERROR(options_.database->Prepare("UPDATE fence SET last = last + 1").Run());
  Statement next = options_.database->Prepare("SELECT last FROM fence");
  CUBBY_ASSIGN_OR_RETURN(const bool counted, next.Step());
  if (!counted) return absl::DataLossError("the registry has lost its fencing numbers");
  const int64_t fence = next.Number();
  CUBBY_RETURN_IF_ERROR(
      options_.database->Prepare("REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
          .Bind(machine_id)
          .Bind(owner.id)
          .Bind(owner.process.pid)
          .Bind(static_cast<int64_t>(owner.process.start_time))
          .Bind(owner.process.boot_id)
          .Bind(static_cast<int64_t>(LeaseKind::kKeep))
          .Bind(fence)
          .Bind(absl::ToInt64Nanoseconds(options_.now() + options_.time_to_live))
          .Bind(options_.boot_id)
          .Run());
  return Lease{.machine_id = machine_id, .owner_id = owner.id, .fence = fence};
}

absl::StatusOr<Lease> SqliteLeaseStore::Acquire(const std::string& machine_id, const Owner& owner) {
  Lease lease;
  CUBBY_RETURN_IF_ERROR(options_.database->Transact([&]() -> absl::Status {
    CUBBY_ASSIGN_OR_RETURN(const std::optional<LeaseHolder> holder, Read(machine_id));
    if (holder.has_value() && holder->owner.id != owner.id) {
      return HeldByAnother(machine_id, *holder);
    }
    if (holder.has_value()) {
      lease = {.machine_id = machine_id, .owner_id = owner.id, .fence = holder->fence};
      return Extend(lease, std::nullopt);
    }
    CUBBY_ASSIGN_OR_RETURN(lease, Grant(machine_id, owner));
    return absl::OkStatus();
  }));
  return lease;
}

absl::StatusOr<Lease> SqliteLeaseStore::TakeOver(const std::string& machine_id,
                                                 const Owner& owner) {
  Lease lease;
  CUBBY_RETURN_IF_ERROR(options_.database->Transact([&]() -> absl::Status {
    CUBBY_ASSIGN_OR_RETURN(const std::optional<LeaseHolder> holder, Read(machine_id));
    if (holder.has_value() && holder->kind == LeaseKind::kTeardown) {
      return HeldByAnother(machine_id, *holder);
    }
    if (holder.has_value() && holder->owner.id == owner.id) {
      lease = {.machine_id = machine_id, .owner_id = owner.id, .fence = holder->fence};
      return Extend(lease, std::nullopt);
    }
    CUBBY_ASSIGN_OR_RETURN(lease, Grant(machine_id, owner));
    return absl::OkStatus();
  }));
  return lease;
}

absl::Status SqliteLeaseStore::Extend(const Lease& lease, std::optional<LeaseKind> kind) {
  CUBBY_ASSIGN_OR_RETURN(const std::optional<LeaseHolder> holder, Read(lease.machine_id));
  if (!holder.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("the lease of machine ", lease.machine_id, " has lapsed"));
  }
  if (holder->fence != lease.fence) return HeldByAnother(lease.machine_id, *holder);
  return options_.database->Prepare("UPDATE leases SET until_ns=?, kind=? WHERE machine_id=?")
      .Bind(absl::ToInt64Nanoseconds(options_.now() + options_.time_to_live))
      .Bind(static_cast<int64_t>(kind.value_or(holder->kind)))
      .Bind(lease.machine_id)
      .Run();
}

absl::Status SqliteLeaseStore::Renew(const Lease& lease) {
  return options_.database->Transact([&] { return Extend(lease, std::nullopt); });
}

absl::Status SqliteLeaseStore::MarkTeardown(const Lease& lease) {
  return options_.database->Transact([&] { return Extend(lease, LeaseKind::kTeardown); });
}

absl::Status SqliteLeaseStore::Release(const Lease& lease) {
  return options_.database->Transact([&] {
    return options_.database->Prepare("DELETE FROM leases WHERE machine_id=? AND fence=?")
        .Bind(lease.machine_id)
        .Bind(lease.fence)
        .Run();
  });
}

absl::StatusOr<std::optional<LeaseHolder>> SqliteLeaseStore::Holder(const std::string& machine_id) {
  std::optional<LeaseHolder> holder;
  CUBBY_RETURN_IF_ERROR(options_.database->Transact([&]() -> absl::Status {
    CUBBY_ASSIGN_OR_RETURN(holder, Read(machine_id));
    return absl::OkStatus();
  }));
  return holder;
}

}  // namespace cubby
