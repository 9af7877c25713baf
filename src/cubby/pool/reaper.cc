// What has to be done from time to time.
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/log.h"
#include "cubby/pool/sandbox_pool.h"

namespace cubby {
namespace {

// A warm machine goes within a second of its time.
constexpr absl::Duration kPause = absl::Milliseconds(500);

void Report(absl::string_view doing, const absl::Status& status) {
  if (!status.ok()) Log(Severity::kWarning, absl::StrCat(doing, ": ", status.message()));
}

}  // namespace

void SandboxPool::Maintain() {
  RenewLeases();
  RetryRemovals();
  ParkReleased();
  ReapIdle();
  if (IsClosing()) return;
  Report("recover machines", RecoverRows());
  Report("prepare machines", FillBlanks());
}

void SandboxPool::StartMaintaining() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (maintainer_.joinable() || stopping_) return;
  maintainer_ = std::thread([this] { MaintainInThread(); });
}

void SandboxPool::MaintainInThread() {
  while (true) {
    Maintain();
    const absl::Duration next = world_.clock->Now() + kPause;
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopping_ && world_.clock->Now() < next) {
      world_.clock->Wait(lock, changed_, next - world_.clock->Now());
    }
    if (stopping_) return;
  }
}

void SandboxPool::RenewLeases() {
  for (const auto& [sandbox_id, seen] : Entries()) {
    const std::optional<Guard> guard = TryGuard(sandbox_id);
    if (!guard.has_value()) continue;
    const std::optional<Entry> entry = FindEntry(sandbox_id);
    if (entry.has_value()) RenewLease(sandbox_id, *entry);
  }
  std::vector<std::pair<std::string, Entry>> blanks;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    blanks.assign(blanks_.begin(), blanks_.end());
  }
  for (const auto& [machine_id, blank] : blanks) {
    const std::optional<Guard> guard = TryGuard(machine_id);
    if (guard.has_value()) RenewLease("", blank);
  }
}

void SandboxPool::RenewLease(const std::string& sandbox_id, const Entry& entry) {
  absl::Status status = world_.leases->Renew(entry.lease);
  if (absl::IsNotFound(status)) {
    // Nobody took it: it is claimed again, and the row says under which fence. [O-5]
    absl::StatusOr<Lease> lease = world_.leases->Acquire(entry.machine_id, world_.owner);
    status = lease.status();
    if (lease.ok()) {
      status = Rewrite(*lease, [&](MachineRow& now) -> absl::Status {
                 if (now.owner.id == world_.owner.id && now.fence == entry.lease.fence) {
                   return absl::OkStatus();
                 }
                 return absl::AbortedError("somebody else had it meanwhile");
               }).status();
      if (!status.ok()) ReleaseLease(*lease);
    }
    if (status.ok()) {
      const std::lock_guard<std::mutex> lock(mutex_);
      auto& map = sandbox_id.empty() ? blanks_ : entries_;
      const auto found = map.find(sandbox_id.empty() ? entry.machine_id : sandbox_id);
      if (found != map.end()) found->second.lease = *std::move(lease);
      return;
    }
  }
  if (absl::IsAborted(status) || absl::IsNotFound(status)) {
    Log(Severity::kInfo, absl::StrCat("machine ", entry.machine_id,
                                      " has moved to another process: ", status.message()));
    Forget(sandbox_id, entry.machine_id);
    return;
  }
  // Anything else says nothing: keep it, and try again. [O-3]
  Report("renew a lease", status);
}

void SandboxPool::RetryRemovals() {
  const absl::StatusOr<std::vector<MachineRow>> rows = world_.registry->List();
  if (!rows.ok()) return Report("look for removals", rows.status());
  for (const MachineRow& row : *rows) {
    if (row.owner.id != world_.owner.id || row.state != MachineState::kTerminating ||
        row.retry_at > world_.clock->Now()) {
      continue;
    }
    const std::optional<Guard> guard =
        TryGuard(row.sandbox_id.empty() ? row.machine_id : row.sandbox_id);
    if (!guard.has_value()) continue;
    const absl::StatusOr<Lease> lease = world_.leases->Acquire(row.machine_id, world_.owner);
    if (absl::IsAborted(lease.status())) continue;
    // What fails is reported there.
    if (lease.ok()) RemoveMachine(row, *lease, "another attempt").IgnoreError();
  }
}

void SandboxPool::ParkReleased() {
  for (const auto& [sandbox_id, entry] : Entries()) {
    if (entry.active && entry.release_wanted) OnIdle(sandbox_id);
  }
}

void SandboxPool::ReapIdle() {
  if (settings_.idle_timeout <= absl::ZeroDuration()) return;
  for (const auto& [sandbox_id, seen] : Entries()) {
    const auto expired = [&](const Entry& entry) {
      return !entry.active && world_.clock->Now() - entry.parked_at > settings_.idle_timeout;
    };
    if (!expired(seen)) continue;
    const std::optional<Guard> guard = TryGuard(sandbox_id);
    if (!guard.has_value()) continue;
    const std::optional<Entry> entry = FindEntry(sandbox_id);
    if (!entry.has_value() || !expired(*entry)) continue;
    Report("reap an idle sandbox", RemoveEntry(sandbox_id, *entry, "idle_timeout"));
  }
}

}  // namespace cubby
