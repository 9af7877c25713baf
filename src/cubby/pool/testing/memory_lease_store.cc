#include "cubby/pool/testing/memory_lease_store.h"

#include "cubby/base/status_macros.h"

namespace cubby {

using Lock = std::lock_guard<std::mutex>;

void MemoryLeaseStore::SetReachable(absl::Status status) {
  const Lock lock(mutex_);
  reachable_ = std::move(status);
}

void MemoryLeaseStore::LoseEverything() {
  const Lock lock(mutex_);
  entries_.clear();
}

MemoryLeaseStore::Entry* MemoryLeaseStore::Current(const std::string& machine_id) {
  const auto found = entries_.find(machine_id);
  return found == entries_.end() || found->second.until <= now_() ? nullptr : &found->second;
}

absl::StatusOr<Lease> MemoryLeaseStore::Take(const std::string& machine_id, const Owner& owner,
                                             Claim claim) {
  const Lock lock(mutex_);
  CUBBY_RETURN_IF_ERROR(reachable_);
  Entry* entry = Current(machine_id);
  if (entry != nullptr) {
    const bool ours = entry->holder.owner.id == owner.id;
    const bool teardown = entry->holder.kind == LeaseKind::kTeardown;
    if (claim == Claim::kFromAnyone ? teardown : !ours) return absl::AbortedError("held");
    if (!ours) entry = nullptr;
  }
  if (entry == nullptr) {
    entry = &entries_[machine_id];
    entry->holder = {.owner = owner, .fence = ++last_fence_};
  }
  entry->until = now_() + time_to_live_;
  return Lease{.machine_id = machine_id, .owner_id = owner.id, .fence = entry->holder.fence};
}

absl::StatusOr<Lease> MemoryLeaseStore::Acquire(const std::string& machine_id, const Owner& owner) {
  return Take(machine_id, owner, Claim::kFree);
}

absl::StatusOr<Lease> MemoryLeaseStore::TakeOver(const std::string& machine_id,
                                                 const Owner& owner) {
  return Take(machine_id, owner, Claim::kFromAnyone);
}

absl::Status MemoryLeaseStore::Extend(const Lease& lease, std::optional<LeaseKind> kind) {
  const Lock lock(mutex_);
  CUBBY_RETURN_IF_ERROR(reachable_);
  Entry* entry = Current(lease.machine_id);
  if (entry == nullptr) return absl::NotFoundError("lapsed");
  if (entry->holder.fence != lease.fence) return absl::AbortedError("lost");
  entry->holder.kind = kind.value_or(entry->holder.kind);
  entry->until = now_() + time_to_live_;
  return absl::OkStatus();
}

absl::Status MemoryLeaseStore::Renew(const Lease& lease) { return Extend(lease, std::nullopt); }

absl::Status MemoryLeaseStore::MarkTeardown(const Lease& lease) {
  return Extend(lease, LeaseKind::kTeardown);
}

absl::Status MemoryLeaseStore::Release(const Lease& lease) {
  const Lock lock(mutex_);
  CUBBY_RETURN_IF_ERROR(reachable_);
  const auto found = entries_.find(lease.machine_id);
  if (found != entries_.end() && found->second.holder.fence == lease.fence) entries_.erase(found);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<LeaseHolder>> MemoryLeaseStore::Holder(const std::string& machine_id) {
  const Lock lock(mutex_);
  CUBBY_RETURN_IF_ERROR(reachable_);
  const Entry* entry = Current(machine_id);
  return entry == nullptr ? std::optional<LeaseHolder>() : entry->holder;
}

}  // namespace cubby
