// Makes, finds and removes sandboxes.
//
//   absl::StatusOr<std::unique_ptr<cubby::SandboxProvider>> provider =
//       cubby::SandboxProvider::Open({});
//   absl::StatusOr<cubby::Created> created = (*provider)->Create({.image = "python:3.12-slim"});
//   absl::StatusOr<cubby::ExecResult> result =
//       created->sandbox->Execute(cubby::Command::Shell("python3 -c 'print(1)'"));
//   (*provider)->Remove(created->sandbox->id());
//
// Sandboxes live in a state directory and outlive the process that made them; any process that
// opens the same directory finds them. All functions may be called from any thread.
#ifndef CUBBY_PROVIDER_H_
#define CUBBY_PROVIDER_H_

#include <stdint.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cubby/sandbox.h"

namespace cubby {

enum class MountAccess { kReadOnly, kReadWrite };

struct Mount {
  std::string host_path;   // absolute; must exist
  std::string guest_path;  // absolute
  MountAccess access = MountAccess::kReadWrite;
};

struct Limits {
  int64_t memory_bytes = int64_t{1} << 30;  // swap included; at least 16 MiB
  double cpus = 2;                          // cores' worth of time
  int64_t processes = 1024;                 // and threads
};

struct SandboxSpec {
  std::string image;  // an OCI reference in the store, such as "python:3.12-slim"
  std::string id;     // 16 hex digits; empty: a random one
  Limits limits;
  std::vector<Mount> mounts;
  std::map<std::string, std::string> environment;  // laid over the image's
  std::string user;                                // as in ExecOptions; empty: the image's
  std::string hostname;                            // empty: "cubby"
  std::map<std::string, std::string> labels;       // kept with the machine, shown by List
  absl::Duration timeout = absl::Seconds(60);      // to be ready
};

// A step of making a sandbox and how long it took, in order.
struct Stage {
  std::string name;
  absl::Duration duration;
};

struct Created {
  std::shared_ptr<Sandbox> sandbox;
  std::vector<Stage> stages;
};

enum class SandboxState { kCreating, kRunning, kDead };

struct SandboxInfo {
  std::string id;
  std::string image;
  std::string backend;
  SandboxState state = SandboxState::kDead;
  absl::Time created;
  Limits limits;
  std::map<std::string, std::string> labels;
  // Digests of the image layers that it stands on. They are in use even when the image has been
  // removed or replaced in the store.
  std::vector<std::string> layers;
};

struct ProviderOptions {
  std::string state_dir;   // empty: $CUBBY_STATE_DIR, else /var/lib/cubby or $XDG_STATE_HOME/cubby
  std::string agent_path;  // empty: $CUBBY_AGENT, else beside the program or the installed one
  std::string runtime;     // an OCI runtime; empty: crun, else runc
};

class SandboxProvider {
 public:
  static absl::StatusOr<std::unique_ptr<SandboxProvider>> Open(const ProviderOptions& options);
  virtual ~SandboxProvider() = default;

  // NOT_FOUND: the image is not in the store (nothing is pulled here). When it fails, nothing is
  // left of the attempt.
  virtual absl::StatusOr<Created> Create(const SandboxSpec& spec) = 0;
  // Connects to a sandbox that is there. NOT_FOUND; UNAVAILABLE (terminal) when it has died.
  virtual absl::StatusOr<std::shared_ptr<Sandbox>> Get(const std::string& id) = 0;
  virtual absl::StatusOr<std::vector<SandboxInfo>> List() = 0;
  // Stops everything in it and removes all that it had. NOT_FOUND when there is nothing.
  virtual absl::Status Remove(const std::string& id) = 0;
  // What the runtime and the agent printed; empty when all is well.
  virtual absl::StatusOr<std::string> ConsoleLog(const std::string& id) = 0;
};

}  // namespace cubby

#endif  // CUBBY_PROVIDER_H_
