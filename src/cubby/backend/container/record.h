// machine.json: what a machine is, on disk before any of it exists.
#ifndef CUBBY_BACKEND_CONTAINER_RECORD_H_
#define CUBBY_BACKEND_CONTAINER_RECORD_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cubby/backend/backend.h"
#include "cubby/base/process_identity.h"

namespace cubby {

struct MachineRecord {
  MachineInfo info;  // its state is kCreating or kRunning, as written; what is true is asked anew
  ProcessIdentity creator;
  ProcessIdentity init;  // the agent; pid 0 until it runs
  std::string runtime;   // path of the OCI runtime that started it
};

// Atomic, but not forced to the disk: after a crash of the host nothing of the machine runs, and a
// record that is empty or old says as much.
absl::Status WriteRecord(const std::string& path, const MachineRecord& record);

// NOT_FOUND when there is none; DATA_LOSS when it cannot be understood.
absl::StatusOr<MachineRecord> ReadRecord(const std::string& path);

}  // namespace cubby

#endif  // CUBBY_BACKEND_CONTAINER_RECORD_H_
