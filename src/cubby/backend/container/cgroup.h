// The control groups that limit a machine, on hosts with version 1, version 2, or both.
//
// We make the group, set its limits, and start the runtime inside it: no runtime needs to manage
// groups, the limits hold before its first instruction, and what was made here is known to us.
#ifndef CUBBY_BACKEND_CONTAINER_CGROUP_H_
#define CUBBY_BACKEND_CONTAINER_CGROUP_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cubby/backend/backend.h"
#include "cubby/base/deadline.h"
#include "cubby/base/unique_fd.h"

namespace cubby {

class CgroupHost {
 public:
  enum class Layout {
    kV1,  // one hierarchy per controller, also on hybrid hosts
    kV2,
    kAbsent,  // none is mounted, or the needed controllers are not there
  };

  // `root` is /sys/fs/cgroup; tests give another.
  explicit CgroupHost(std::string root);

  [[nodiscard]] Layout layout() const { return layout_; }
  // A version 2 hierarchy with controllers of its own beside version 1: crun refuses to run there
  // and must not see it. Empty when there is none.
  [[nodiscard]] std::string hybrid_folder() const;
  // What is missing, for people; empty when limits can be set.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  // Makes `cubby/<id>` in every hierarchy and sets the limits; undone when it fails.
  absl::Status Create(const std::string& id, const Limits& limits) const;
  // The cgroup.procs files, for SpawnOptions.
  absl::StatusOr<std::vector<unique_fd>> OpenProcs(const std::string& id) const;
  // Kills what is left in the group and removes it. Fine when it is not there.
  absl::Status Remove(const std::string& id, Deadline deadline) const;
  absl::StatusOr<MachineStats> Stats(const std::string& id) const;

 private:
  // Of the hierarchies that set and count, and of all that are mounted.
  [[nodiscard]] std::vector<std::string> Parents() const;
  [[nodiscard]] std::vector<std::string> AllParents() const;
  [[nodiscard]] std::string Group(const std::string& controller, const std::string& id) const;
  absl::Status MakeGroup(const std::string& parent, const std::string& id) const;
  absl::Status SetLimits(const std::string& id, const Limits& limits) const;
  absl::Status EnableControllers(const std::string& group) const;

  const std::string root_;
  Layout layout_ = Layout::kAbsent;
  std::string problem_;
};

}  // namespace cubby

#endif  // CUBBY_BACKEND_CONTAINER_CGROUP_H_
