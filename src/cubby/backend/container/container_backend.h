// Machines that are containers: an OCI runtime over an overlay of the image's shared layers.
//
// A container is the child of nobody who matters: it survives the process that made it. Its record
// (record.h) is written before anything is made, so that Kill finds all of it whatever happened.
#ifndef CUBBY_BACKEND_CONTAINER_CONTAINER_BACKEND_H_
#define CUBBY_BACKEND_CONTAINER_CONTAINER_BACKEND_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cubby/backend/backend.h"
#include "cubby/backend/container/cgroup.h"
#include "cubby/backend/container/record.h"
#include "cubby/backend/container/runtime.h"
#include "cubby/base/state_dir.h"
#include "cubby/image/store.h"

namespace cubby {

class ContainerBackend : public Backend {
 public:
  struct Options {
    std::string agent_path;
    std::string runtime;  // as OciRuntime::Find
    std::string cgroup_root = "/sys/fs/cgroup";
    // The unpacked image of a reference.
    std::function<absl::StatusOr<ImageRootfs>(const std::string&)> rootfs;
    // Told before each step of Create, by the stage's name; tests end the process here.
    std::function<void(absl::string_view)> before_step;
  };

  static absl::StatusOr<std::unique_ptr<ContainerBackend>> Open(const StateDir& state,
                                                                Options options);

  [[nodiscard]] const char* name() const override { return "container"; }
  absl::StatusOr<MachineInfo> Create(const SandboxSpec& spec, Deadline deadline,
                                     std::vector<Stage>* stages) override;
  absl::StatusOr<unique_fd> Connect(const std::string& id) override;
  absl::StatusOr<std::vector<MachineInfo>> List() override;
  absl::StatusOr<MachineInfo> Inspect(const std::string& id) override;
  absl::Status Kill(const std::string& id) override;
  absl::StatusOr<MachineStats> Stats(const std::string& id) override;
  absl::StatusOr<std::string> ConsoleLog(const std::string& id) override;

 private:
  ContainerBackend(const StateDir& state, Options options, OciRuntime runtime);

  [[nodiscard]] MachinePaths Paths(const std::string& id) const;
  absl::Status Build(const SandboxSpec& spec, const MachinePaths& paths, Deadline deadline,
                     MachineRecord* record, std::vector<Stage>* stages);
  // Removes all of a machine whose folder is locked by the caller.
  absl::Status Destroy(const std::string& id, const MachinePaths& paths);

  const StateDir state_;
  const Options options_;
  const OciRuntime runtime_;
  const CgroupHost cgroups_;
};

}  // namespace cubby

#endif  // CUBBY_BACKEND_CONTAINER_CONTAINER_BACKEND_H_
