// Every path that Cubby keeps on disk.
//
//   <state>/                         /var/lib/cubby for root, else $XDG_STATE_HOME/cubby
//   ├── version                      layout version; a newer one is refused
//   ├── images/
//   │   ├── refs.json                reference -> manifest digest
//   │   ├── blobs/sha256/<hex>       manifests, configurations, compressed layers
//   │   ├── partial/<hex>            downloads under way; resumed
//   │   ├── layers/<hex>/            one unpacked layer each, by digest of its compressed blob
//   │   ├── rootfs/<hex>.json        one unpacked image each, by digest of its manifest: its layers
//   │   │                            and configuration, all that making a sandbox reads
//   │   └── locks/                   one file per blob and layer under work, `refs`, and `store`:
//   │                                shared by whoever adds, exclusive for whoever prunes
//   ├── registry.db                  the pool's machines and leases (SQLite, with files beside)
//   ├── owners/<id>                  one locked file per living pool
//   ├── machines/<id>/               one folder per sandbox machine
//   │   ├── machine.json             what it is; written before anything is made
//   │   ├── agent.sock               the agent's listening socket
//   │   ├── console.log              what the runtime and the agent print
//   │   ├── bundle/                  config.json and rootfs/ (the overlay's mount point)
//   │   └── overlay/{upper,work}     what the sandbox wrote
//   └── runtime/                     the OCI runtime's own state
#ifndef CUBBY_BASE_STATE_DIR_H_
#define CUBBY_BASE_STATE_DIR_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cubby {

class StateDir {
 public:
  // Creates what is missing. FAILED_PRECONDITION when the folder was written by a newer layout.
  static absl::StatusOr<StateDir> Open(const std::string& root);
  // --state-dir's default: $CUBBY_STATE_DIR, else as drawn above.
  static std::string DefaultRoot();

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string images() const { return root_ + "/images"; }
  [[nodiscard]] std::string machines() const { return root_ + "/machines"; }
  [[nodiscard]] std::string runtime() const { return root_ + "/runtime"; }
  [[nodiscard]] std::string registry() const { return root_ + "/registry.db"; }
  [[nodiscard]] std::string owners() const { return root_ + "/owners"; }
  [[nodiscard]] std::string machine(absl::string_view id) const;

 private:
  explicit StateDir(std::string root) : root_(std::move(root)) {}
  std::string root_;
};

// The paths of one machine; `directory` is StateDir::machine(id).
struct MachinePaths {
  std::string directory;
  [[nodiscard]] std::string record() const { return directory + "/machine.json"; }
  [[nodiscard]] std::string socket() const { return directory + "/agent.sock"; }
  [[nodiscard]] std::string console() const { return directory + "/console.log"; }
  [[nodiscard]] std::string bundle() const { return directory + "/bundle"; }
  [[nodiscard]] std::string rootfs() const { return directory + "/bundle/rootfs"; }
  [[nodiscard]] std::string runtime_config() const { return directory + "/bundle/config.json"; }
  [[nodiscard]] std::string upper() const { return directory + "/overlay/upper"; }
  [[nodiscard]] std::string work() const { return directory + "/overlay/work"; }
};

}  // namespace cubby

#endif  // CUBBY_BASE_STATE_DIR_H_
