#include "cubby/pool/testing/pool_world.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cubby/base/status_macros.h"
#include "cubby/pool/sqlite_lease_store.h"

namespace cubby {
namespace {

constexpr char kBoot[] = "the boot";

// The host's machines as one process reaches them: it may die before a call or after it.
class ProcessBackend : public Backend {
 public:
  ProcessBackend(FakeBackend* machines, PoolProcess* process)
      : machines_(machines), process_(process) {}

  const char* name() const override { return machines_->name(); }
  absl::StatusOr<MachineInfo> Create(const SandboxSpec& spec, Deadline deadline,
                                     std::vector<Stage>* stages) override {
    return Call([&] { return machines_->Create(spec, deadline, stages); });
  }
  absl::StatusOr<unique_fd> Connect(const std::string& id) override {
    return Call([&] { return machines_->Connect(id); });
  }
  absl::StatusOr<std::vector<MachineInfo>> List() override {
    return Call([&] { return machines_->List(); });
  }
  absl::StatusOr<MachineInfo> Inspect(const std::string& id) override {
    return Call([&] { return machines_->Inspect(id); });
  }
  absl::Status Kill(const std::string& id) override {
    return Call([&] { return machines_->Kill(id); });
  }
  absl::StatusOr<MachineStats> Stats(const std::string& id) override {
    return Call([&] { return machines_->Stats(id); });
  }
  absl::StatusOr<std::string> ConsoleLog(const std::string& id) override {
    return Call([&] { return machines_->ConsoleLog(id); });
  }

 private:
  template <typename Body>
  auto Call(const Body& body) -> decltype(body()) {
    CUBBY_RETURN_IF_ERROR(process_->Gate());
    auto result = body();
    CUBBY_RETURN_IF_ERROR(process_->Gate());
    return result;
  }

  FakeBackend* const machines_;
  PoolProcess* const process_;
};

}  // namespace

class PoolHost::Liveness : public OwnerLiveness {
 public:
  explicit Liveness(PoolHost* host) : host_(host) {}
  bool IsAlive(const Owner& owner) override { return host_->IsAlive(owner.id); }

 private:
  PoolHost* const host_;
};

void FakeClock::Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                     absl::Duration at_most) {
  if (real_) {
    changed.wait_for(lock, absl::ToChronoNanoseconds(at_most));
  } else {
    Advance(std::max(at_most, absl::Milliseconds(250)));  // fewer looks in vain
  }
}

PoolHost::PoolHost()
    : folder_(*TemporaryDirectory::Create(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
                                          "cubby-pool-")),
      registry_(std::make_unique<Registry>(*Registry::OpenDatabase(registry_path()))) {}

std::string PoolHost::NewId() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return absl::StrFormat("%016x", ++last_id_);
}

bool PoolHost::IsAlive(const std::string& owner_id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return living_.contains(owner_id);
}

PoolProcess::PoolProcess(PoolHost* host, PoolSettings settings)
    : host_(host), owner_{.id = host->NewId(), .process = {.pid = 1, .boot_id = kBoot}} {
  {
    const std::lock_guard<std::mutex> lock(host_->mutex_);
    host_->living_.insert(owner_.id);
  }
  const std::shared_ptr<Database> database =
      *Registry::OpenDatabase(host_->registry_path(), [this] { return Gate(); });
  auto liveness = std::make_shared<PoolHost::Liveness>(host_);
  access_ = std::make_shared<FakeAccess>(&host_->machines_, [this] { return Gate(); });
  pool_ = SandboxPool::Make(std::move(settings),
                            {.backend = std::make_shared<ProcessBackend>(&host_->machines_, this),
                             .access = access_,
                             .registry = std::make_shared<Registry>(database),
                             .leases = std::make_shared<SqliteLeaseStore>(SqliteLeaseStore::Options{
                                 .database = database,
                                 .liveness = liveness.get(),
                                 .now = [clock = host_->clock_] { return clock->Now(); },
                                 .boot_id = kBoot}),
                             .liveness = liveness,
                             .clock = host_->clock_,
                             .new_id = [host] { return host->NewId(); },
                             .owner = owner_});
}

PoolProcess::~PoolProcess() {
  Die();
  pool_.reset();
}

void PoolProcess::Die() {
  alive_ = false;
  const std::lock_guard<std::mutex> lock(host_->mutex_);
  host_->living_.erase(owner_.id);
}

absl::Status PoolProcess::Gate() {
  if (fuse_ > 0 && --fuse_ == 0) Die();
  return alive_ ? absl::OkStatus() : absl::CancelledError("the process is dead");
}

}  // namespace cubby
