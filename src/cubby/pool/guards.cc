// What a pool keeps in memory: guards, entries, and waiting for either to change.
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/ids.h"
#include "cubby/base/log.h"
#include "cubby/base/status_macros.h"
#include "cubby/pool/sandbox_pool.h"

namespace cubby {
namespace {

// Other processes do not notify this one.
constexpr absl::Duration kLookAgain = absl::Milliseconds(20);

}  // namespace

SandboxPool::SandboxPool(PoolSettings settings, PoolWorld world)
    : settings_(std::move(settings)), world_(std::move(world)) {}

std::shared_ptr<SandboxPool> SandboxPool::Make(PoolSettings settings, PoolWorld world) {
  if (world.new_id == nullptr) world.new_id = [] { return RandomHex(8); };
  return std::shared_ptr<SandboxPool>(new SandboxPool(std::move(settings), std::move(world)));
}

SandboxPool::~SandboxPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (maintainer_.joinable()) maintainer_.join();
}

SandboxPool::Guard::~Guard() {
  if (pool_ == nullptr) return;
  {
    const std::lock_guard<std::mutex> lock(pool_->mutex_);
    pool_->guarded_.erase(key_);
  }
  pool_->changed_.notify_all();
}

SandboxPool::Guard SandboxPool::WaitForGuard(const std::string& key) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!guarded_.insert(key).second) world_.clock->Wait(lock, changed_, absl::Seconds(1));
  return Guard(this, key);
}

std::optional<SandboxPool::Guard> SandboxPool::TryGuard(const std::string& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!guarded_.insert(key).second) return std::nullopt;
  return Guard(this, key);
}

void SandboxPool::WaitForChange() {
  std::unique_lock<std::mutex> lock(mutex_);
  world_.clock->Wait(lock, changed_, kLookAgain);
}

void SandboxPool::NotifyChanged() { changed_.notify_all(); }

bool SandboxPool::IsClosing() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return closing_;
}

std::optional<SandboxPool::Entry> SandboxPool::FindEntry(const std::string& sandbox_id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(sandbox_id);
  return found == entries_.end() ? std::nullopt : std::optional<Entry>(found->second);
}

std::vector<std::pair<std::string, SandboxPool::Entry>> SandboxPool::Entries() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {entries_.begin(), entries_.end()};
}

void SandboxPool::Forget(const std::string& sandbox_id, const std::string& machine_id) {
  std::shared_ptr<Usage> usage;
  std::shared_ptr<Sandbox> last;  // ends outside of the lock
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    blanks_.erase(machine_id);
    const auto found = entries_.find(sandbox_id);
    if (found == entries_.end() || found->second.machine_id != machine_id) return;
    usage = std::move(found->second.usage);
    last = std::move(found->second.sandbox);
    entries_.erase(found);
  }
  if (usage != nullptr) usage->Close();
}

absl::StatusOr<MachineRow> SandboxPool::Rewrite(
    const Lease& lease, const std::function<absl::Status(MachineRow&)>& change) {
  MachineRow written;
  CUBBY_RETURN_IF_ERROR(world_.registry->Transact([&](Registry::View& view) -> absl::Status {
    CUBBY_ASSIGN_OR_RETURN(std::optional<MachineRow> row, view.Find(lease.machine_id));
    if (!row.has_value()) {
      return absl::NotFoundError(absl::StrCat("machine ", lease.machine_id, " is gone"));
    }
    const MachineState before = row->state;
    CUBBY_RETURN_IF_ERROR(change(*row));
    if (row->state != before) {
      row->since = world_.clock->Now();
      row->since_boot = world_.owner.process.boot_id;
    }
    row->owner = world_.owner;
    row->fence = lease.fence;
    written = *row;
    return view.Update(*row);
  }));
  return written;
}

void SandboxPool::ReleaseLease(const Lease& lease) {
  // Should it stay, it lapses with this owner, and this owner acquires it again at will.
  if (const absl::Status status = world_.leases->Release(lease); !status.ok()) {
    Log(Severity::kInfo, absl::StrCat("lease of machine ", lease.machine_id,
                                      " could not be released: ", status.message()));
  }
}

}  // namespace cubby
