// Room: how many machines there may be, and what gives way.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/log.h"
#include "cubby/base/status_macros.h"
#include "cubby/pool/sandbox_pool.h"
#include "cubby/status.h"

namespace cubby {
namespace {

// A machine counts from its reservation until it is seen gone. Blanks have no tenant yet.
absl::StatusOr<int> CountTenants(Registry::View& view) {
  CUBBY_ASSIGN_OR_RETURN(const std::vector<MachineRow> rows, view.List());
  return static_cast<int>(std::count_if(rows.begin(), rows.end(), [](const MachineRow& row) {
    return row.tenancy != Tenancy::kNobody && HoldsSlot(row.state);
  }));
}

}  // namespace

absl::Status SandboxPool::NoRoom() {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   absl::StrCat("all ", settings_.replicas,
                                " sandboxes (replicas) are in use; release one, or raise replicas"),
                   {.fate = Fate::kRetryable});
}

absl::StatusOr<SandboxPool::Room> SandboxPool::Reserve(
    const std::function<absl::Status(Registry::View&)>& write) {
  bool overflow = false;
  while (true) {
    Room room = Room::kFound;
    int count = 0;
    CUBBY_RETURN_IF_ERROR(world_.registry->Transact([&](Registry::View& view) -> absl::Status {
      CUBBY_ASSIGN_OR_RETURN(count, CountTenants(view));
      if (count >= settings_.replicas && !overflow) {
        room = Room::kNone;
        return absl::OkStatus();
      }
      return write(view);
    }));
    if (room == Room::kFound) {
      if (count >= settings_.replicas) {
        Log(Severity::kWarning, absl::StrCat("replicas (", settings_.replicas, ") exceeded: ",
                                             count + 1, " sandboxes, none of them warm"));
      }
      return room;
    }
    if (EvictOldestWarm() == Room::kFound) continue;
    switch (settings_.overflow_policy) {
      case OverflowPolicy::kBurst:
        overflow = true;
        continue;
      case OverflowPolicy::kWait:
        return Room::kNone;
      case OverflowPolicy::kReject:
        return NoRoom();
    }
  }
}

SandboxPool::Room SandboxPool::EvictOldestWarm() {
  std::vector<std::pair<std::string, Entry>> warm = Entries();
  warm.erase(
      std::remove_if(warm.begin(), warm.end(), [](const auto& item) { return item.second.active; }),
      warm.end());
  std::stable_sort(warm.begin(), warm.end(), [](const auto& a, const auto& b) {
    return a.second.parked_at < b.second.parked_at;
  });
  for (const auto& [sandbox_id, seen] : warm) {
    // One that somebody works on is being acquired, or goes anyway.
    const std::optional<Guard> guard = TryGuard(sandbox_id);
    if (!guard.has_value()) continue;
    const std::optional<Entry> entry = FindEntry(sandbox_id);
    if (!entry.has_value() || entry->active || entry->lease != seen.lease) continue;
    const absl::Status status = RemoveEntry(sandbox_id, *entry, "evicted");
    if (status.ok()) return Room::kFound;
    Log(Severity::kWarning, absl::StrCat("evict sandbox ", sandbox_id, ": ", status.message()));
  }
  return Room::kNone;
}

}  // namespace cubby
