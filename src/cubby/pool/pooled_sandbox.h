// A sandbox as the pool hands it out: every operation counts as use, and one that finds the machine
// gone says so to the pool.
#ifndef CUBBY_POOL_POOLED_SANDBOX_H_
#define CUBBY_POOL_POOLED_SANDBOX_H_

#include <memory>

#include "cubby/pool/usage.h"
#include "cubby/sandbox.h"

namespace cubby {

std::shared_ptr<Sandbox> MakePooledSandbox(std::shared_ptr<Sandbox> inner,
                                           std::shared_ptr<Usage> usage);

}  // namespace cubby

#endif  // CUBBY_POOL_POOLED_SANDBOX_H_
