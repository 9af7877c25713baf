// What this host offers, and what is missing for sandboxes to work well.
#ifndef CUBBY_BACKEND_DOCTOR_H_
#define CUBBY_BACKEND_DOCTOR_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace cubby {

enum class Verdict {
  kOk,
  kWarning,  // sandboxes work, but something is slower, weaker or scarce
  kMissing,  // sandboxes of this kind do not work
};

struct Check {
  std::string name;  // "runtime", "cgroup", ...
  Verdict verdict = Verdict::kOk;
  std::string detail;  // one line: what was found
  std::string remedy;  // what to do about it; empty when all is well
};

struct DoctorOptions {
  std::string state_dir;
  std::string agent_path;  // as FindAgentProgram
  std::string runtime;     // as OciRuntime::Find
  // Other places and answers, for tests of degraded hosts.
  std::string cgroup_root = "/sys/fs/cgroup";
  std::string proc = "/proc";
  std::string kvm_device = "/dev/kvm";
  absl::Duration kvm_deadline = absl::Seconds(5);
};

// Tries each prerequisite rather than looking for signs of it: mounts an overlay, makes a user
// namespace, runs a virtual machine. Takes up to a few seconds; leaves nothing behind.
std::vector<Check> ProbeHost(const DoctorOptions& options);

}  // namespace cubby

#endif  // CUBBY_BACKEND_DOCTOR_H_
