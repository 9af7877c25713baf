// What dead owners left: every machine is found, and taken over or removed.
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/log.h"
#include "cubby/base/status_macros.h"
#include "cubby/pool/owner_label.h"
#include "cubby/pool/sandbox_pool.h"

namespace cubby {

absl::Status SandboxPool::Recover() {
  absl::Status first = RecoverRows();
  first.Update(RecoverUnrecorded());
  first.Update(FillBlanks());
  return first;
}

absl::Status SandboxPool::RecoverRows() {
  CUBBY_ASSIGN_OR_RETURN(const std::vector<MachineRow> rows, world_.registry->List());
  absl::Status first;
  for (const MachineRow& row : rows) {
    // Own rows that nobody works on come from a step that failed half way.
    const bool own = row.owner.id == world_.owner.id;
    if (own ? row.state == MachineState::kTerminating : world_.liveness->IsAlive(row.owner)) {
      continue;
    }
    const absl::Status status = Settle(row);
    // One that another process settles is none of ours.
    if (!absl::IsAborted(status)) first.Update(status);
  }
  return first;
}

absl::Status SandboxPool::Settle(const MachineRow& seen) {
  const std::optional<Guard> guard =
      TryGuard(seen.sandbox_id.empty() ? seen.machine_id : seen.sandbox_id);
  if (!guard.has_value()) return absl::OkStatus();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (blanks_.contains(seen.machine_id)) return absl::OkStatus();
    const auto entry = entries_.find(seen.sandbox_id);
    if (entry != entries_.end() && entry->second.lease.fence == seen.fence) return absl::OkStatus();
  }
  CUBBY_ASSIGN_OR_RETURN(const Lease lease, world_.leases->Acquire(seen.machine_id, world_.owner));
  // Under the lease nobody else changes it.
  CUBBY_ASSIGN_OR_RETURN(const std::optional<MachineRow> row,
                         world_.registry->Find(seen.machine_id));
  if (!row.has_value() || row->fence != seen.fence || row->state != seen.state) {
    ReleaseLease(lease);
    return absl::OkStatus();
  }
  switch (row->state) {
    case MachineState::kCreating:
      return RemoveMachine(*row, lease, "half made by a dead owner");
    case MachineState::kTerminating:
      return RemoveMachine(*row, lease, "half removed by a dead owner");
    case MachineState::kBlank:
      if (NeedsBlank()) break;
      return RemoveMachine(*row, lease, "no blank is needed");
    case MachineState::kActive:
    case MachineState::kWarm:
      if (row->tenancy == Tenancy::kThread) break;
      return RemoveMachine(*row, lease, "nobody can acquire it again");
    case MachineState::kGone:
      break;
  }
  return Adopt(*row, lease);
}

absl::Status SandboxPool::Adopt(const MachineRow& row, const Lease& lease) {
  const absl::StatusOr<MachineInfo> machine = world_.backend->Inspect(row.machine_id);
  if (!machine.ok() && !absl::IsNotFound(machine.status())) {
    // Nothing is known: neither adopted nor removed. A later pass asks again.
    ReleaseLease(lease);
    return machine.status();
  }
  const auto nonce =
      machine.ok() ? machine->labels.find(kNonceLabel) : decltype(machine->labels.end())();
  if (!machine.ok() || machine->state != SandboxState::kRunning || nonce == machine->labels.end() ||
      nonce->second != row.nonce) {
    return RemoveMachine(row, lease, "died with its owner");
  }
  const bool blank = row.state == MachineState::kBlank;
  CUBBY_ASSIGN_OR_RETURN(const MachineRow adopted, Rewrite(lease, [&](MachineRow& now) {
                           if (!blank) now.state = MachineState::kWarm;
                           now.intent = "adopted";
                           return absl::OkStatus();
                         }));
  // It is checked when somebody acquires it: only then it has to work.
  Entry entry{.machine_id = row.machine_id,
              .nonce = row.nonce,
              .tenancy = row.tenancy,
              .lease = lease,
              .parked_at = adopted.since};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!closing_) {
      (blank ? blanks_[row.machine_id] : entries_[row.sandbox_id]) = std::move(entry);
      return absl::OkStatus();
    }
  }
  return RemoveMachine(adopted, lease, "shutdown");
}

absl::Status SandboxPool::RecoverUnrecorded() {
  // Machines first: each of these had a row, unless its record was lost.
  CUBBY_ASSIGN_OR_RETURN(const std::vector<MachineInfo> machines, world_.backend->List());
  CUBBY_ASSIGN_OR_RETURN(const std::vector<MachineRow> rows, world_.registry->List());
  std::set<std::string> recorded;
  for (const MachineRow& row : rows) recorded.insert(row.machine_id);
  absl::Status first;
  for (const MachineInfo& machine : machines) {
    // Those without our label are somebody's own.
    if (recorded.contains(machine.id) || !machine.labels.contains(kNonceLabel)) continue;
    const auto label = machine.labels.find(kOwnerLabel);
    const std::optional<Owner> maker =
        label != machine.labels.end() ? ParseOwnerLabel(label->second) : std::nullopt;
    if (maker.has_value() && world_.liveness->IsAlive(*maker)) continue;
    const absl::Status status = RemoveUnrecorded(machine);
    if (!absl::IsAborted(status)) first.Update(status);
  }
  return first;
}

absl::Status SandboxPool::RemoveUnrecorded(const MachineInfo& machine) {
  const std::optional<Guard> guard = TryGuard(machine.id);
  if (!guard.has_value()) return absl::OkStatus();
  CUBBY_ASSIGN_OR_RETURN(const Lease lease, world_.leases->Acquire(machine.id, world_.owner));
  // Under the lease nobody makes a successor of that name.
  CUBBY_ASSIGN_OR_RETURN(const std::optional<MachineRow> row, world_.registry->Find(machine.id));
  absl::Status status;
  if (!row.has_value()) {
    Log(Severity::kWarning, absl::StrCat("machine ", machine.id, " is on no record: removed"));
    status = world_.backend->Kill(machine.id);
    if (absl::IsNotFound(status)) status = absl::OkStatus();
    ReleaseLease(lease);
  } else if (row->fence != lease.fence) {
    ReleaseLease(lease);
  }
  return status;
}

}  // namespace cubby
