// Making machines, for a tenant or ahead of one.
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/log.h"
#include "cubby/base/status_macros.h"
#include "cubby/pool/owner_label.h"
#include "cubby/pool/sandbox_pool.h"
#include "cubby/status.h"

namespace cubby {
namespace {

// Somebody else has written the row since, or removed it.
bool IsLost(const absl::Status& status) {
  return absl::IsAborted(status) || absl::IsNotFound(status) || absl::IsFailedPrecondition(status);
}

}  // namespace

MachineRow SandboxPool::NewRow(const Tenant& tenant, const std::string& machine_id,
                               const Lease& lease) {
  return {.machine_id = machine_id,
          .sandbox_id = tenant.sandbox_id,
          .tenancy = tenant.tenancy,
          .identity = tenant.identity,
          .state = MachineState::kCreating,
          .backend = world_.backend->name(),
          .image = settings_.machine.image,
          .owner = world_.owner,
          .fence = lease.fence,
          .nonce = world_.new_id(),
          .intent = "create",
          .created = world_.clock->WallNow(),
          .since = world_.clock->Now(),
          .since_boot = world_.owner.process.boot_id};
}

absl::StatusOr<SandboxPool::Outcome> SandboxPool::ClaimBlank(const Tenant& tenant) {
  std::vector<std::pair<std::string, Entry>> blanks;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    blanks.assign(blanks_.begin(), blanks_.end());
  }
  for (const auto& [machine_id, blank] : blanks) {
    const std::optional<Guard> guard = TryGuard(machine_id);
    if (!guard.has_value()) continue;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!blanks_.contains(machine_id)) continue;
    }
    absl::StatusOr<std::shared_ptr<Sandbox>> inner = world_.access->Verify(
        tenant.sandbox_id, machine_id, blank.nonce, settings_.health_check_timeout);
    if (!inner.ok()) {
      Log(Severity::kWarning,
          absl::StrCat("blank machine ", machine_id, " is given up: ", inner.status().message()));
      CUBBY_ASSIGN_OR_RETURN(const std::optional<MachineRow> row,
                             world_.registry->Find(machine_id));
      if (!row.has_value() || row->owner.id != world_.owner.id) {
        Forget("", machine_id);
      } else if (const absl::Status status =
                     RemoveMachine(*row, blank.lease, "health_check_failed");
                 !status.ok() && !absl::IsUnavailable(status)) {
        return status;  // a removal that failed is retried; a registry that fails is fatal here
      }
      continue;
    }
    MachineRow claimed;
    const absl::StatusOr<Room> room = Reserve([&](Registry::View& view) -> absl::Status {
      CUBBY_ASSIGN_OR_RETURN(std::optional<MachineRow> row, view.Find(machine_id));
      if (!row.has_value()) return absl::NotFoundError("the blank is gone");
      claimed = *std::move(row);
      claimed.sandbox_id = tenant.sandbox_id;
      claimed.tenancy = tenant.tenancy;
      claimed.identity = tenant.identity;
      claimed.state = MachineState::kActive;
      claimed.since = world_.clock->Now();
      claimed.since_boot = world_.owner.process.boot_id;
      claimed.fence = blank.lease.fence;
      claimed.owner = world_.owner;
      claimed.intent.clear();
      return view.Update(claimed);
    });
    if (absl::IsAlreadyExists(room.status())) {
      // Another process makes this tenant's machine.
      return Outcome{.waiting_for = MakeError(absl::StatusCode::kUnavailable,
                                              room.status().message(), {.fate = Fate::kRetryable})};
    }
    if (absl::IsAborted(room.status()) || absl::IsNotFound(room.status())) {
      Forget("", machine_id);
      continue;
    }
    CUBBY_RETURN_IF_ERROR(room.status());
    if (*room == Room::kNone) return Outcome{.waiting_for = NoRoom()};
    Forget("", machine_id);
    return HandOver(tenant, claimed, blank.lease, *std::move(inner));
  }
  return Outcome{};
}

absl::StatusOr<SandboxPool::Outcome> SandboxPool::CreateFor(const Tenant& tenant) {
  const std::string& machine_id = tenant.sandbox_id;
  const absl::StatusOr<Lease> lease = world_.leases->Acquire(machine_id, world_.owner);
  if (absl::IsAborted(lease.status())) {
    return Outcome{.waiting_for = MakeError(absl::StatusCode::kUnavailable,
                                            lease.status().message(), {.fate = Fate::kRetryable})};
  }
  CUBBY_RETURN_IF_ERROR(lease.status());
  const MachineRow row = NewRow(tenant, machine_id, *lease);
  const absl::StatusOr<Room> room = Reserve([&](Registry::View& view) { return view.Insert(row); });
  if (!room.ok() || *room == Room::kNone) ReleaseLease(*lease);
  if (absl::IsAlreadyExists(room.status())) {
    return Outcome{.waiting_for = MakeError(absl::StatusCode::kUnavailable, room.status().message(),
                                            {.fate = Fate::kRetryable})};
  }
  CUBBY_RETURN_IF_ERROR(room.status());
  if (*room == Room::kNone) return Outcome{.waiting_for = NoRoom()};

  CUBBY_ASSIGN_OR_RETURN(std::shared_ptr<Sandbox> inner, MakeMachine(row, *lease));
  const absl::StatusOr<MachineRow> active = Rewrite(*lease, [](MachineRow& now) {
    now.state = MachineState::kActive;
    now.intent.clear();
    return absl::OkStatus();
  });
  if (IsLost(active.status())) {
    GiveUpCreated(row);
    return MakeError(absl::StatusCode::kUnavailable,
                     absl::StrCat("sandbox ", tenant.sandbox_id, " was removed while it was made"),
                     {.fate = Fate::kRetryable});
  }
  CUBBY_RETURN_IF_ERROR(active.status());
  return HandOver(tenant, *active, *lease, std::move(inner));
}

absl::StatusOr<std::shared_ptr<Sandbox>> SandboxPool::MakeMachine(const MachineRow& row,
                                                                  const Lease& lease) {
  SandboxSpec spec = settings_.machine;
  spec.id = row.machine_id;
  spec.labels[kNonceLabel] = row.nonce;
  spec.labels[kOwnerLabel] = OwnerLabel(world_.owner);
  const Deadline deadline = Deadline::After(spec.timeout);
  std::vector<Stage> stages;
  const absl::StatusOr<MachineInfo> machine = world_.backend->Create(spec, deadline, &stages);
  if (absl::IsAlreadyExists(machine.status())) {
    const absl::StatusOr<MachineInfo> other = world_.backend->Inspect(row.machine_id);
    if (other.ok() && !other->labels.contains(kNonceLabel)) {
      // Somebody's own machine: it is not the pool's to remove.
      CUBBY_RETURN_IF_ERROR(world_.registry->Transact(
          [&](Registry::View& view) { return view.Erase(row.machine_id, lease.fence); }));
      ReleaseLease(lease);
      return machine.status();
    }
  }
  absl::StatusOr<std::shared_ptr<Sandbox>> inner =
      machine.ok()
          ? world_.access->Configure(row.sandbox_id.empty() ? row.machine_id : row.sandbox_id, spec,
                                     *machine, deadline)
          : machine.status();
  if (inner.ok()) return inner;
  // RemoveMachine says itself what it could not do, and it is done later.
  RemoveMachine(row, lease, "create_failed").IgnoreError();
  return Annotate(inner.status(), absl::StrCat("make machine ", row.machine_id));
}

void SandboxPool::GiveUpCreated(const MachineRow& row) {
  // Whoever holds the lease now finds the machine under its name and removes it.
  const absl::StatusOr<Lease> lease = world_.leases->Acquire(row.machine_id, world_.owner);
  if (!lease.ok()) return;
  const absl::StatusOr<std::optional<MachineRow>> now = world_.registry->Find(row.machine_id);
  if (now.ok() && now->has_value()) {
    // A removal that was waiting for a second try: this is it.
    if ((*now)->state == MachineState::kTerminating) {
      RemoveMachine(**now, *lease, "removed while it was made").IgnoreError();
      return;
    }
  } else if (now.ok()) {
    const absl::Status status = world_.backend->Kill(row.machine_id);
    if (!status.ok() && !absl::IsNotFound(status)) {
      Log(Severity::kWarning,
          absl::StrCat("machine ", row.machine_id, " is left for recovery: ", status.message()));
    }
  }
  ReleaseLease(*lease);
}

bool SandboxPool::NeedsBlank() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !closing_ && static_cast<int>(blanks_.size()) < settings_.blanks;
}

absl::Status SandboxPool::FillBlanks() {
  while (NeedsBlank()) CUBBY_RETURN_IF_ERROR(MakeBlank());
  return absl::OkStatus();
}

absl::Status SandboxPool::MakeBlank() {
  const std::string machine_id = world_.new_id();
  const Guard guard = WaitForGuard(machine_id);
  CUBBY_ASSIGN_OR_RETURN(const Lease lease, world_.leases->Acquire(machine_id, world_.owner));
  const MachineRow row = NewRow({}, machine_id, lease);
  CUBBY_RETURN_IF_ERROR(
      world_.registry->Transact([&](Registry::View& view) { return view.Insert(row); }));
  CUBBY_RETURN_IF_ERROR(MakeMachine(row, lease).status());
  const absl::StatusOr<MachineRow> blank = Rewrite(lease, [](MachineRow& now) {
    now.state = MachineState::kBlank;
    now.intent.clear();
    return absl::OkStatus();
  });
  if (IsLost(blank.status())) GiveUpCreated(row);
  CUBBY_RETURN_IF_ERROR(blank.status());
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!closing_) {
      blanks_[machine_id] = {.machine_id = machine_id, .nonce = row.nonce, .lease = lease};
      return absl::OkStatus();
    }
  }
  return RemoveMachine(*blank, lease, "shutdown");
}

}  // namespace cubby
