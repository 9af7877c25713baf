// Who keeps a machine, and whether he still lives.
//
// An owner is one pool in one process. A pid says who it was only together with its start time and
// boot; and a process may live on after its pool has ended. So an owner also holds a lock on a file
// of its own, which the kernel lets go of when the process dies: alive is who runs and holds it.
// Processes that share a state directory must share a pid namespace.
#ifndef CUBBY_POOL_OWNER_H_
#define CUBBY_POOL_OWNER_H_

#include <string>

#include "absl/status/statusor.h"
#include "cubby/base/file.h"
#include "cubby/base/process_identity.h"

namespace cubby {

struct Owner {
  std::string id;  // random, one per pool
  ProcessIdentity process;

  friend bool operator==(const Owner&, const Owner&) = default;
};

class OwnerLiveness {
 public:
  virtual ~OwnerLiveness() = default;
  virtual bool IsAlive(const Owner& owner) = 0;
};

// By the lock files in a folder.
class OwnerLocks : public OwnerLiveness {
 public:
  explicit OwnerLocks(std::string folder) : folder_(std::move(folder)) {}

  bool IsAlive(const Owner& owner) override;
  // Removes the file of an owner that is dead.
  void Forget(const Owner& owner);

 private:
  const std::string folder_;
};

// Makes this process an owner for as long as it lives.
class Heartbeat {
 public:
  static absl::StatusOr<Heartbeat> Start(const std::string& folder);
  Heartbeat(Heartbeat&&) noexcept = default;
  Heartbeat& operator=(Heartbeat&&) = delete;
  ~Heartbeat();

  [[nodiscard]] const Owner& owner() const { return owner_; }

 private:
  Heartbeat(std::string path, Owner owner, FileLock lock)
      : path_(std::move(path)), owner_(std::move(owner)), lock_(std::move(lock)) {}

  std::string path_;
  Owner owner_;
  FileLock lock_;
};

}  // namespace cubby

#endif  // CUBBY_POOL_OWNER_H_
