// Acquiring: the active machine, the warm one, a blank, a new one; whichever comes first.
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/log.h"
#include "cubby/base/status_macros.h"
#include "cubby/pool/pooled_sandbox.h"
#include "cubby/pool/sandbox_pool.h"
#include "cubby/status.h"

namespace cubby {
namespace {

absl::Status ShutDown() {
  return absl::FailedPreconditionError("the pool is shutting down; it hands out nothing any more");
}

// Whether an answer to the check means that the machine must not be used again. Anything else says
// nothing of the machine: it is kept, and the caller told. [L-24]
bool IsDead(const absl::Status& status) {
  return IsTerminal(status) || absl::IsNotFound(status) || absl::IsDataLoss(status) ||
         absl::IsDeadlineExceeded(status);
}

absl::Status Busy(const std::string& sandbox_id, absl::string_view what) {
  return MakeError(absl::StatusCode::kUnavailable, absl::StrCat("sandbox ", sandbox_id, " ", what),
                   {.fate = Fate::kRetryable});
}

}  // namespace

absl::StatusOr<std::shared_ptr<Sandbox>> SandboxPool::Acquire(const Identity& identity) {
  CUBBY_RETURN_IF_ERROR(CheckIdentity(identity));
  const Tenant tenant{
      .sandbox_id = SandboxIdOf(identity), .tenancy = Tenancy::kThread, .identity = identity};
  const Guard guard = WaitForGuard(tenant.sandbox_id);
  return AcquireFor(tenant);
}

absl::StatusOr<std::shared_ptr<Sandbox>> SandboxPool::AcquireAnonymous() {
  const Tenant tenant{.sandbox_id = world_.new_id(), .tenancy = Tenancy::kAnonymous};
  const Guard guard = WaitForGuard(tenant.sandbox_id);
  return AcquireFor(tenant);
}

std::shared_ptr<Sandbox> SandboxPool::Get(const std::string& sandbox_id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(sandbox_id);
  return found != entries_.end() && found->second.active ? found->second.sandbox : nullptr;
}

absl::StatusOr<std::shared_ptr<Sandbox>> SandboxPool::AcquireFor(const Tenant& tenant) {
  const absl::Duration deadline = world_.clock->Now() + settings_.acquire_timeout;
  while (true) {
    if (IsClosing()) return ShutDown();
    CUBBY_ASSIGN_OR_RETURN(Outcome outcome, TryAcquire(tenant));
    if (outcome.sandbox != nullptr) return std::move(outcome.sandbox);
    if (outcome.waiting_for.ok()) continue;
    if (world_.clock->Now() >= deadline) return outcome.waiting_for;
    WaitForChange();
  }
}

absl::StatusOr<SandboxPool::Outcome> SandboxPool::TryAcquire(const Tenant& tenant) {
  CUBBY_ASSIGN_OR_RETURN(const std::optional<MachineRow> row,
                         world_.registry->FindSandbox(tenant.sandbox_id));
  if (!row.has_value()) {
    // What is in memory of it is of a machine that another process has removed.
    if (const std::optional<Entry> entry = FindEntry(tenant.sandbox_id)) {
      Forget(tenant.sandbox_id, entry->machine_id);
    }
    CUBBY_ASSIGN_OR_RETURN(Outcome outcome, ClaimBlank(tenant));
    if (outcome.sandbox != nullptr || !outcome.waiting_for.ok()) return outcome;
    return CreateFor(tenant);
  }
  if (row->tenancy != tenant.tenancy || row->identity != tenant.identity) {
    return absl::FailedPreconditionError(absl::StrCat(
        "sandbox ", tenant.sandbox_id, " belongs to ", Describe(row->identity),
        ", whose id happens to be that of ", Describe(tenant.identity), "; nothing was changed"));
  }
  switch (row->state) {
    case MachineState::kActive:
    case MachineState::kWarm:
      return Reclaim(tenant, *row);
    case MachineState::kCreating:
      if (row->owner.id != world_.owner.id && world_.liveness->IsAlive(row->owner)) {
        return Outcome{.waiting_for =
                           Busy(tenant.sandbox_id,
                                absl::StrCat("is being made by process ", row->owner.process.pid))};
      }
      return FinishRemoval(*row);  // half made, by somebody who is gone
    case MachineState::kTerminating:
      return FinishRemoval(*row);
    case MachineState::kBlank:
    case MachineState::kGone:
      break;
  }
  return absl::InternalError(
      absl::StrCat("sandbox ", tenant.sandbox_id, " is on record as ", StateName(row->state)));
}

absl::StatusOr<SandboxPool::Outcome> SandboxPool::FinishRemoval(const MachineRow& row) {
  // A second machine of an identity is not made while the first may still run.
  const absl::StatusOr<Lease> lease = world_.leases->Acquire(row.machine_id, world_.owner);
  if (absl::IsAborted(lease.status())) {
    return Outcome{.waiting_for = Busy(row.sandbox_id, "is being removed by another process")};
  }
  CUBBY_RETURN_IF_ERROR(lease.status());
  CUBBY_RETURN_IF_ERROR(RemoveMachine(row, *lease, "finish what was begun"));
  return Outcome{};
}

absl::StatusOr<SandboxPool::Outcome> SandboxPool::Reclaim(const Tenant& tenant,
                                                          const MachineRow& found) {
  const std::optional<Entry> entry = FindEntry(tenant.sandbox_id);
  const bool ours = entry.has_value() && entry->machine_id == found.machine_id &&
                    entry->lease.fence == found.fence && found.owner.id == world_.owner.id;
  if (ours && entry->active && found.state == MachineState::kActive) {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_[tenant.sandbox_id].release_wanted = false;
    return Outcome{.sandbox = entry->sandbox};
  }
  if (entry.has_value() && !ours) Forget(tenant.sandbox_id, entry->machine_id);
  const absl::StatusOr<Lease> lease = world_.leases->TakeOver(found.machine_id, world_.owner);
  if (absl::IsAborted(lease.status())) {
    return Outcome{.waiting_for = Busy(tenant.sandbox_id, "is being removed")};
  }
  CUBBY_RETURN_IF_ERROR(lease.status());
  // On record before the machine is asked: the former owner finds that he has lost it.
  const absl::StatusOr<MachineRow> row = Rewrite(*lease, [&](MachineRow& now) -> absl::Status {
    if (now.state != found.state || now.sandbox_id != found.sandbox_id) {
      return absl::AbortedError("it has changed");
    }
    return absl::OkStatus();
  });
  if (absl::IsAborted(row.status()) || absl::IsNotFound(row.status())) return Outcome{};
  CUBBY_RETURN_IF_ERROR(row.status());

  const bool skip = ours && entry->recently_parked &&
                    world_.clock->Now() - entry->parked_at < settings_.health_check_skip;
  absl::StatusOr<std::shared_ptr<Sandbox>> inner =
      skip ? world_.access->Open(tenant.sandbox_id, row->machine_id)
           : world_.access->Verify(tenant.sandbox_id, row->machine_id, row->nonce,
                                   settings_.health_check_timeout);
  if (!inner.ok() && IsDead(inner.status())) {
    Log(Severity::kWarning,
        absl::StrCat("sandbox ", tenant.sandbox_id, " is replaced: ", inner.status().message()));
    CUBBY_RETURN_IF_ERROR(RemoveMachine(*row, *lease, "health_check_failed"));
    return Outcome{};
  }
  CUBBY_RETURN_IF_ERROR(inner.status());
  const absl::StatusOr<MachineRow> active = Rewrite(*lease, [](MachineRow& now) {
    now.state = MachineState::kActive;
    now.intent.clear();
    return absl::OkStatus();
  });
  if (absl::IsAborted(active.status()) || absl::IsNotFound(active.status()) ||
      absl::IsFailedPrecondition(active.status())) {
    return Outcome{};  // removed or taken over meanwhile
  }
  CUBBY_RETURN_IF_ERROR(active.status());
  return HandOver(tenant, *active, *lease, *std::move(inner));
}

absl::StatusOr<SandboxPool::Outcome> SandboxPool::HandOver(const Tenant& tenant,
                                                           const MachineRow& row,
                                                           const Lease& lease,
                                                           std::shared_ptr<Sandbox> inner) {
  // Callers may outlive the pool. A report names its hand-over, so that a late one of an earlier
  // machine does not touch this one.
  auto self = std::make_shared<std::weak_ptr<Usage>>();
  auto usage = std::make_shared<Usage>(
      tenant.sandbox_id, Usage::Events{.idle =
                                           [pool = weak_from_this(), id = tenant.sandbox_id] {
                                             if (const auto alive = pool.lock()) alive->OnIdle(id);
                                           },
                                       .terminated =
                                           [pool = weak_from_this(), id = tenant.sandbox_id,
                                            self](const absl::Status& why) {
                                             const std::shared_ptr<Usage> mine = self->lock();
                                             if (const auto alive = pool.lock())
                                               alive->OnTerminated(id, mine.get(), why);
                                           }});
  *self = usage;
  Entry entry{.machine_id = row.machine_id,
              .nonce = row.nonce,
              .tenancy = row.tenancy,
              .lease = lease,
              .active = true,
              .usage = usage,
              .sandbox = MakePooledSandbox(std::move(inner), usage)};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!closing_) {
      Outcome outcome{.sandbox = entry.sandbox};
      entries_[tenant.sandbox_id] = std::move(entry);
      return outcome;
    }
  }
  CUBBY_RETURN_IF_ERROR(RemoveMachine(row, lease, "shutdown"));
  return ShutDown();
}

}  // namespace cubby
