#include "cubby/pool/host_pool.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/log.h"
#include "cubby/base/status_macros.h"
#include "cubby/pool/agent_access.h"
#include "cubby/pool/sqlite_lease_store.h"

namespace cubby {

absl::StatusOr<std::shared_ptr<SandboxPool>> OpenHostPool(const StateDir& state,
                                                          std::shared_ptr<Backend> backend,
                                                          PoolSettings settings) {
  CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<Database> database,
                         Registry::OpenDatabase(state.registry()));
  CUBBY_ASSIGN_OR_RETURN(Heartbeat heartbeat, Heartbeat::Start(state.owners()));
  auto liveness = std::make_shared<OwnerLocks>(state.owners());
  const Owner owner = heartbeat.owner();
  std::shared_ptr<SandboxPool> pool = SandboxPool::Make(
      std::move(settings), {.backend = backend,
                            .access = std::make_shared<AgentAccess>(backend),
                            .registry = std::make_shared<Registry>(database),
                            .leases = std::make_shared<SqliteLeaseStore>(
                                SqliteLeaseStore::Options{.database = database,
                                                          .liveness = liveness.get(),
                                                          .now = MonotonicNow,
                                                          .boot_id = owner.process.boot_id}),
                            .liveness = liveness,
                            .clock = std::make_shared<SystemClock>(),
                            .owner = owner,
                            .heartbeat = std::make_shared<Heartbeat>(std::move(heartbeat))});
  if (const absl::Status status = pool->Recover(); !status.ok()) {
    Log(Severity::kWarning,
        absl::StrCat("not all machines could be settled yet: ", status.message()));
  }
  return pool;
}

}  // namespace cubby
