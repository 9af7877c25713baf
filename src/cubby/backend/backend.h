// backend/: makes machines, and hands out the byte stream to the agent in each.
//
// A Backend knows one kind of machine and nothing of pools, files or searching. It may use image/
// and base/. Its machines do not die with the process that made them: their record is on disk
// before they exist, and any later process finds, adopts or kills them.
#ifndef CUBBY_BACKEND_BACKEND_H_
#define CUBBY_BACKEND_BACKEND_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cubby/base/deadline.h"
#include "cubby/base/unique_fd.h"
#include "cubby/provider.h"

namespace cubby {

// What commands in the machine get unless the caller says otherwise: from the image.
struct GuestDefaults {
  std::vector<std::string> environment;  // "KEY=value"
  std::string user;
};

struct MachineInfo {
  std::string id;
  std::string image;         // as the caller named it
  std::string image_digest;  // of its manifest
  std::vector<std::string>
      layers;  // digests of the image's; in use as long as the machine is there
  SandboxState state = SandboxState::kDead;
  absl::Time created;
  Limits limits;
  std::map<std::string, std::string> labels;
  GuestDefaults defaults;
};

// The cost of a machine as its host sees it.
struct MachineStats {
  int64_t memory_bytes = 0;
  int64_t memory_peak_bytes = 0;
  absl::Duration cpu_time;
  int64_t processes = 0;
  int64_t out_of_memory_kills = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual const char* name() const = 0;

  // Makes the machine `spec.id` (which must be set) and returns when its agent can be connected to.
  // Appends its steps to `stages`. ALREADY_EXISTS when the id is taken. When it fails, nothing is
  // left of the attempt; what could not be removed keeps its record, in state kDead, for Kill.
  virtual absl::StatusOr<MachineInfo> Create(const SandboxSpec& spec, Deadline deadline,
                                             std::vector<Stage>* stages) = 0;

  // A new byte stream to the agent. UNAVAILABLE (terminal) when the machine is not running.
  virtual absl::StatusOr<unique_fd> Connect(const std::string& id) = 0;

  virtual absl::StatusOr<std::vector<MachineInfo>> List() = 0;
  virtual absl::StatusOr<MachineInfo> Inspect(const std::string& id) = 0;

  // Ends the machine and returns when nothing is left of it: no process, mount, cgroup, folder.
  // Works in every state, half-made ones included. NOT_FOUND when there is no trace of it.
  virtual absl::Status Kill(const std::string& id) = 0;

  virtual absl::StatusOr<MachineStats> Stats(const std::string& id) = 0;
  virtual absl::StatusOr<std::string> ConsoleLog(const std::string& id) = 0;
};

}  // namespace cubby

#endif  // CUBBY_BACKEND_BACKEND_H_
