// Who has the duty, and the right, to park and remove a machine. A lease does not restrict use.
//
// Every lease has a fencing number, larger than those of all leases of the machine before it. What
// is written under a lease carries the number, so that a holder who lost it without knowing is
// refused. A lease lapses when it is not renewed in time, or at once where the store can see that
// its owner has died. Every call is atomic, also against other processes. An error other than the
// ones named here means that nothing is known: neither hand out, adopt nor remove then.
#ifndef CUBBY_POOL_LEASE_STORE_H_
#define CUBBY_POOL_LEASE_STORE_H_

#include <stdint.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cubby/pool/owner.h"

namespace cubby {

struct Lease {
  std::string machine_id;
  std::string owner_id;
  int64_t fence = 0;

  friend bool operator==(const Lease&, const Lease&) = default;
};

enum class LeaseKind {
  kKeep,      // the machine is in use or parked
  kTeardown,  // it is being removed; nobody takes it over
};

struct LeaseHolder {
  Owner owner;
  LeaseKind kind = LeaseKind::kKeep;
  int64_t fence = 0;
};

class LeaseStore {
 public:
  virtual ~LeaseStore() = default;

  // For a machine that nobody holds. An owner who holds it already gets the lease that he has, be
  // it for teardown. ABORTED when somebody else holds it.
  virtual absl::StatusOr<Lease> Acquire(const std::string& machine_id, const Owner& owner) = 0;

  // Also from a living holder: a thread may move to another process. ABORTED when the machine is
  // being removed, by whomever.
  virtual absl::StatusOr<Lease> TakeOver(const std::string& machine_id, const Owner& owner) = 0;

  // NOT_FOUND: it has lapsed and may be acquired anew. ABORTED: somebody else has it.
  virtual absl::Status Renew(const Lease& lease) = 0;

  // From now on until it lapses nobody takes it over. The same errors.
  virtual absl::Status MarkTeardown(const Lease& lease) = 0;

  // Of either kind. A lease that is not held any more is left as it is.
  virtual absl::Status Release(const Lease& lease) = 0;

  virtual absl::StatusOr<std::optional<LeaseHolder>> Holder(const std::string& machine_id) = 0;
};

}  // namespace cubby

#endif  // CUBBY_POOL_LEASE_STORE_H_
