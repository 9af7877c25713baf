// Which process a number meant: a pid alone is reused.
#ifndef CUBBY_BASE_PROCESS_IDENTITY_H_
#define CUBBY_BASE_PROCESS_IDENTITY_H_

#include <stdint.h>
#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "cubby/base/unique_fd.h"

namespace cubby {

// A process is the same only with the same start time in the same boot of the same host.
struct ProcessIdentity {
  pid_t pid = 0;
  uint64_t start_time = 0;  // clock ticks after boot (proc(5), stat field 22)
  std::string boot_id;

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

// NOT_FOUND when there is no such process.
absl::StatusOr<ProcessIdentity> IdentifyProcess(pid_t pid);

ProcessIdentity ThisProcess();

// A pidfd for exactly this process; NOT_FOUND when it has ended (a zombie has) or the host was
// rebooted.
absl::StatusOr<unique_fd> OpenProcess(const ProcessIdentity& identity);

inline bool IsRunning(const ProcessIdentity& identity) { return OpenProcess(identity).ok(); }

}  // namespace cubby

#endif  // CUBBY_BASE_PROCESS_IDENTITY_H_
