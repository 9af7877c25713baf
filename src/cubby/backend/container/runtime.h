// The OCI runtime program that starts containers.
#ifndef CUBBY_BACKEND_CONTAINER_RUNTIME_H_
#define CUBBY_BACKEND_CONTAINER_RUNTIME_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "cubby/backend/container/cgroup.h"
#include "cubby/backend/container/oci_config.h"
#include "cubby/base/deadline.h"
#include "cubby/base/state_dir.h"

namespace cubby {

class OciRuntime {
 public:
  // `name` is a program or its path; empty: crun, else runc.
  static absl::StatusOr<OciRuntime> Find(const std::string& name, const StateDir& state);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] SeccompForm seccomp() const {
    return is_crun_ ? SeccompForm::kCompiled : SeccompForm::kRules;
  }
  // For runtimes that insist on managing control groups: the group that we have made.
  [[nodiscard]] std::string CgroupsPath(const std::string& id) const {
    return is_crun_ ? "" : "/cubby/" + id;
  }

  // Starts the container of a bundle inside the machine's control group, with `listener` as its
  // descriptor 3, and returns the pid of its first process. What it prints goes to the console.
  absl::StatusOr<pid_t> Run(const std::string& id, const MachinePaths& paths,
                            const CgroupHost& cgroups, int listener, Deadline deadline) const;

  // Forgets the container, which has ended. Fine when it is not known.
  [[nodiscard]] absl::Status Forget(const std::string& id) const;

 private:
  OciRuntime(std::string path, std::string state_folder);

  std::string path_;
  std::string state_folder_;
  bool is_crun_;
};

// The last bytes of a console log, cut at a line.
std::string ConsoleTail(const std::string& path, size_t max_bytes);

}  // namespace cubby

#endif  // CUBBY_BACKEND_CONTAINER_RUNTIME_H_
