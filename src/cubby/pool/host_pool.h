// The pool of a state directory: registry, leases and owner as files of this host.
#ifndef CUBBY_POOL_HOST_POOL_H_
#define CUBBY_POOL_HOST_POOL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "cubby/backend/backend.h"
#include "cubby/base/state_dir.h"
#include "cubby/pool/sandbox_pool.h"

namespace cubby {

// What dead processes left is settled before it returns, as far as it can be now. The caller starts
// the pool's maintenance when he stays.
absl::StatusOr<std::shared_ptr<SandboxPool>> OpenHostPool(const StateDir& state,
                                                          std::shared_ptr<Backend> backend,
                                                          PoolSettings settings);

}  // namespace cubby

#endif  // CUBBY_POOL_HOST_POOL_H_
