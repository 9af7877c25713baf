// Letting go: parking, resetting, shutting down, and what operations in flight have to say.
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/log.h"
#include "cubby/base/status_macros.h"
#include "cubby/pool/sandbox_pool.h"
#include "cubby/status.h"

namespace cubby {

absl::Status SandboxPool::Release(const std::string& sandbox_id) {
  const Guard guard = WaitForGuard(sandbox_id);
  return ReleaseGuarded(sandbox_id);
}

absl::Status SandboxPool::ReleaseGuarded(const std::string& sandbox_id) {
  const std::optional<Entry> entry = FindEntry(sandbox_id);
  if (!entry.has_value() || !entry->active) return absl::OkStatus();
  {
    // Before the look at the operations: the last of them looks at this when it ends.
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_[sandbox_id].release_wanted = true;
  }
  if (!entry->usage->TryClose()) return absl::OkStatus();
  if (entry->tenancy == Tenancy::kAnonymous) return RemoveEntry(sandbox_id, *entry, "released");
  if (IsClosing()) return RemoveEntry(sandbox_id, *entry, "shutdown");

  const absl::StatusOr<MachineRow> row = Rewrite(entry->lease, [](MachineRow& now) {
    now.state = MachineState::kWarm;
    return absl::OkStatus();
  });
  if (absl::IsAborted(row.status()) || absl::IsNotFound(row.status()) ||
      absl::IsFailedPrecondition(row.status())) {
    Forget(sandbox_id, entry->machine_id);  // another process has it, or has removed it
    return absl::OkStatus();
  }
  if (!row.ok()) {
    entry->usage->Reopen();
    return row.status();
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_[sandbox_id] = {.machine_id = entry->machine_id,
                            .nonce = entry->nonce,
                            .tenancy = entry->tenancy,
                            .lease = entry->lease,
                            .parked_at = row->since,
                            .recently_parked = true};
  }
  NotifyChanged();
  return absl::OkStatus();
}

void SandboxPool::OnIdle(const std::string& sandbox_id) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(sandbox_id);
    if (found == entries_.end() || !found->second.release_wanted) return;
  }
  const Guard guard = WaitForGuard(sandbox_id);
  const std::optional<Entry> entry = FindEntry(sandbox_id);
  if (!entry.has_value() || !entry->release_wanted) return;  // acquired again meanwhile
  if (const absl::Status status = ReleaseGuarded(sandbox_id); !status.ok()) {
    Log(Severity::kWarning, absl::StrCat("release sandbox ", sandbox_id, ": ", status.message()));
  }
}

void SandboxPool::OnTerminated(const std::string& sandbox_id, const Usage* usage,
                               const absl::Status& why) {
  const Guard guard = WaitForGuard(sandbox_id);
  const std::optional<Entry> entry = FindEntry(sandbox_id);
  // The machine that is there now may be a successor of the one that died.
  if (!entry.has_value() || usage == nullptr || entry->usage.get() != usage) return;
  Log(Severity::kWarning, absl::StrCat("sandbox ", sandbox_id, " has died: ", why.message()));
  if (const absl::Status status = RemoveEntry(sandbox_id, *entry, "died"); !status.ok()) {
    Log(Severity::kWarning, absl::StrCat("remove sandbox ", sandbox_id, ": ", status.message()));
  }
}

absl::Status SandboxPool::Reset() {
  absl::Status first;
  for (const auto& [sandbox_id, seen] : Entries()) {
    const Guard guard = WaitForGuard(sandbox_id);
    first.Update(ReleaseGuarded(sandbox_id));
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto found = entries_.find(sandbox_id); found != entries_.end()) {
      found->second.recently_parked = false;
    }
  }
  return first;
}

absl::Status SandboxPool::Shutdown() {
  std::thread maintainer;
  std::vector<std::pair<std::string, Entry>> blanks;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    stopping_ = true;
    maintainer = std::move(maintainer_);
  }
  changed_.notify_all();
  if (maintainer.joinable()) maintainer.join();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    blanks.assign(blanks_.begin(), blanks_.end());
  }
  absl::Status first;
  // One that fails does not stop the others.
  for (const auto& [sandbox_id, seen] : Entries()) {
    const Guard guard = WaitForGuard(sandbox_id);
    const std::optional<Entry> entry = FindEntry(sandbox_id);
    if (entry.has_value()) first.Update(RemoveEntry(sandbox_id, *entry, "shutdown"));
  }
  for (const auto& [machine_id, blank] : blanks) {
    const Guard guard = WaitForGuard(machine_id);
    first.Update(RemoveEntry("", blank, "shutdown"));
  }
  // What could not be removed before.
  CUBBY_ASSIGN_OR_RETURN(const std::vector<MachineRow> rows, world_.registry->List());
  for (const MachineRow& row : rows) {
    if (row.owner.id != world_.owner.id || row.state != MachineState::kTerminating) continue;
    const Guard guard = WaitForGuard(row.sandbox_id.empty() ? row.machine_id : row.sandbox_id);
    const absl::StatusOr<Lease> lease = world_.leases->Acquire(row.machine_id, world_.owner);
    first.Update(lease.ok() ? RemoveMachine(row, *lease, "shutdown") : lease.status());
  }
  return first;
}

absl::StatusOr<std::vector<MachineRow>> SandboxPool::List() { return world_.registry->List(); }

}  // namespace cubby
