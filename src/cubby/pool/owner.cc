#include "cubby/pool/owner.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "cubby/base/ids.h"
#include "cubby/base/status_macros.h"

namespace cubby {
namespace {

std::string LockPath(const std::string& folder, const std::string& id) {
  return absl::StrCat(folder, "/", id);
}

}  // namespace

bool OwnerLocks::IsAlive(const Owner& owner) {
  if (!IsRunning(owner.process)) return false;
  const std::string path = LockPath(folder_, owner.id);
  // Asking must not make the file.
  if (!FileExists(path)) return false;
  const absl::StatusOr<FileLock> lock = FileLock::TryAcquire(path);
  // Any other error says nothing: whoever may be alive is left alone.
  return !lock.ok();
}

void OwnerLocks::Forget(const Owner& owner) {
  if (!IsAlive(owner)) unlink(LockPath(folder_, owner.id).c_str());
}

absl::StatusOr<Heartbeat> Heartbeat::Start(const std::string& folder) {
  CUBBY_RETURN_IF_ERROR(MakeDirectories(folder));
  Owner owner{.id = RandomHex(8), .process = ThisProcess()};
  std::string path = LockPath(folder, owner.id);
  CUBBY_ASSIGN_OR_RETURN(FileLock lock, FileLock::TryAcquire(path));
  return Heartbeat(std::move(path), std::move(owner), std::move(lock));
}

Heartbeat::~Heartbeat() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace cubby
