// Removing machines: on record as terminating until they are seen gone.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/log.h"
#include "cubby/base/status_macros.h"
#include "cubby/pool/sandbox_pool.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr absl::Duration kLongestPause = absl::Minutes(1);

absl::Duration PauseAfter(int64_t attempts) {
  return std::min(kLongestPause, absl::Seconds(int64_t{1} << std::min<int64_t>(attempts, 6)));
}

}  // namespace

absl::StatusOr<Lease> SandboxPool::LeaseForRemoval(const std::string& machine_id) {
  // Acquire also gives the teardown lease that this owner has of an earlier try.
  absl::StatusOr<Lease> lease = world_.leases->Acquire(machine_id, world_.owner);
  if (!absl::IsAborted(lease.status())) return lease;
  return world_.leases->TakeOver(machine_id, world_.owner);
}

absl::Status SandboxPool::RemoveMachine(const MachineRow& row, Lease lease,
                                        absl::string_view reason) {
  absl::Status marked = world_.leases->MarkTeardown(lease);
  if (absl::IsNotFound(marked)) {
    CUBBY_ASSIGN_OR_RETURN(lease, world_.leases->Acquire(row.machine_id, world_.owner));
    marked = world_.leases->MarkTeardown(lease);
  }
  CUBBY_RETURN_IF_ERROR(marked);
  const absl::StatusOr<MachineRow> terminating = Rewrite(lease, [&](MachineRow& now) {
    now.state = MachineState::kTerminating;
    now.intent = absl::StrCat("remove: ", reason);
    return absl::OkStatus();
  });
  if (absl::IsNotFound(terminating.status())) {
    Forget(row.sandbox_id, row.machine_id);
    ReleaseLease(lease);
    return absl::OkStatus();
  }
  CUBBY_RETURN_IF_ERROR(terminating.status());
  Forget(row.sandbox_id, row.machine_id);

  const absl::Status killed = world_.backend->Kill(row.machine_id);
  if (!killed.ok() && !absl::IsNotFound(killed)) {
    const absl::StatusOr<MachineRow> failed = Rewrite(lease, [&](MachineRow& now) {
      ++now.removal_attempts;
      now.retry_at = world_.clock->Now() + PauseAfter(now.removal_attempts);
      return absl::OkStatus();
    });
    Log(Severity::kWarning,
        absl::StrCat("machine ", row.machine_id, " (", reason,
                     ") could not be removed: ", killed.message(), "; ",
                     failed.ok() ? absl::StrCat("attempt ", failed->removal_attempts)
                                 : std::string(failed.status().message()),
                     "; it stays on record and is tried again"));
    return MakeError(
        absl::StatusCode::kUnavailable,
        absl::StrCat("machine ", row.machine_id, " could not be removed yet: ", killed.message()),
        {.fate = Fate::kRetryable});
  }
  CUBBY_RETURN_IF_ERROR(world_.registry->Transact(
      [&](Registry::View& view) { return view.Erase(row.machine_id, lease.fence); }));
  ReleaseLease(lease);
  NotifyChanged();
  Log(Severity::kInfo, absl::StrCat("machine ", row.machine_id, " is removed: ", reason));
  return absl::OkStatus();
}

absl::Status SandboxPool::RemoveEntry(const std::string& sandbox_id, const Entry& entry,
                                      absl::string_view reason) {
  CUBBY_ASSIGN_OR_RETURN(const std::optional<MachineRow> row,
                         world_.registry->Find(entry.machine_id));
  if (!row.has_value() || row->owner.id != world_.owner.id) {
    // Removed or taken over by another process: not ours to touch.
    Forget(sandbox_id, entry.machine_id);
    return absl::OkStatus();
  }
  const absl::Status status = RemoveMachine(*row, entry.lease, reason);
  if (absl::IsAborted(status)) {
    Forget(sandbox_id, entry.machine_id);
    return absl::OkStatus();
  }
  return status;
}

absl::Status SandboxPool::Destroy(const std::string& sandbox_id) {
  const Guard guard = WaitForGuard(sandbox_id);
  const absl::Duration deadline = world_.clock->Now() + settings_.acquire_timeout;
  bool found = false;
  while (true) {
    CUBBY_ASSIGN_OR_RETURN(const std::optional<MachineRow> row,
                           world_.registry->FindSandbox(sandbox_id));
    if (!row.has_value()) {
      if (found) return absl::OkStatus();
      return absl::NotFoundError(absl::StrCat("sandbox ", sandbox_id, " is not there"));
    }
    found = true;
    const absl::StatusOr<Lease> lease = LeaseForRemoval(row->machine_id);
    const absl::Status status =
        lease.ok() ? RemoveMachine(*row, *lease, "destroyed") : lease.status();
    if (!absl::IsAborted(status)) return status;
    if (world_.clock->Now() >= deadline) {
      return MakeError(absl::StatusCode::kUnavailable,
                       absl::StrCat("sandbox ", sandbox_id, ": ", status.message()),
                       {.fate = Fate::kRetryable});
    }
    WaitForChange();
  }
}

}  // namespace cubby
