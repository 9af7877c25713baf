#include "cubby/backend/container/oci_config.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/backend/container/seccomp_rules.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"
#include "nlohmann/json.hpp"

namespace cubby {
namespace {

using nlohmann::json;

constexpr char kCompiledFilter[] =
#include "seccomp_filter.inc"
    ;

// What root in a sandbox needs to be useful: files of any owner, users, signals, low ports. Less
// than Docker's set by NET_RAW, MKNOD and AUDIT_WRITE.
constexpr const char* kCapabilities[] = {
    "CAP_CHOWN",  "CAP_DAC_OVERRIDE", "CAP_FOWNER",  "CAP_FSETID",           "CAP_KILL",
    "CAP_SETGID", "CAP_SETUID",       "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT",
    "CAP_SETFCAP"};

constexpr const char* kMaskedPaths[] = {"/proc/acpi",
                                        "/proc/asound",
                                        "/proc/kcore",
                                        "/proc/keys",
                                        "/proc/latency_stats",
                                        "/proc/timer_list",
                                        "/proc/timer_stats",
                                        "/proc/sched_debug",
                                        "/proc/scsi",
                                        "/sys/firmware",
                                        "/sys/devices/virtual/powercap",
                                        "/sys/kernel/debug"};

constexpr const char* kReadonlyPaths[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                          "/proc/sysrq-trigger"};

// Where a mount would take away what isolates or serves the sandbox.
constexpr const char* kReservedPaths[] = {"/.cubby", "/proc", "/sys", "/dev"};

constexpr rlim_t kSoftFiles = 65536;

// What this host may give: raising a hard limit needs a capability that not every root has.
rlim_t HardFileLimit() {
  rlimit limit{};
  constexpr rlim_t kWanted = 1048576;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min(limit.rlim_max, kWanted) : kSoftFiles;
}

json Seccomp() {
  json calls = json::array();
  json names = json::array();
  for (const char* name : kAllowedSyscalls) names.push_back(name);
  calls.push_back({{"names", names}, {"action", "SCMP_ACT_ALLOW"}});
  const auto with_argument = [&calls](const char* name, uint64_t value, uint64_t value_two,
                                      const char* op) {
    calls.push_back(
        {{"names", {name}},
         {"action", "SCMP_ACT_ALLOW"},
         {"args", {{{"index", 0}, {"value", value}, {"valueTwo", value_two}, {"op", op}}}}});
  };
  with_argument("clone", kNamespaceFlags, 0, "SCMP_CMP_MASKED_EQ");
  with_argument("socket", kHighestSocketFamily, 0, "SCMP_CMP_LE");
  for (uint64_t persona : kAllowedPersonalities) {
    with_argument("personality", persona, 0, "SCMP_CMP_EQ");
  }
  calls.push_back({{"names", {"clone3"}}, {"action", "SCMP_ACT_ERRNO"}, {"errnoRet", ENOSYS}});
  return {{"defaultAction", "SCMP_ACT_ERRNO"}, {"syscalls", calls}};
}

json StandardMounts(const std::string& agent_path) {
  return json::array({
      {{"destination", "/proc"},
       {"type", "proc"},
       {"source", "proc"},
       {"options", {"nosuid", "noexec", "nodev"}}},
      {{"destination", "/dev"},
       {"type", "tmpfs"},
       {"source", "tmpfs"},
       {"options", {"nosuid", "strictatime", "mode=755", "size=65536k"}}},
      {{"destination", "/dev/pts"},
       {"type", "devpts"},
       {"source", "devpts"},
       {"options", {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}}},
      {{"destination", "/dev/shm"},
       {"type", "tmpfs"},
       {"source", "shm"},
       {"options", {"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}}},
      {{"destination", "/dev/mqueue"},
       {"type", "mqueue"},
       {"source", "mqueue"},
       {"options", {"nosuid", "noexec", "nodev"}}},
      {{"destination", "/sys"},
       {"type", "sysfs"},
       {"source", "sysfs"},
       {"options", {"nosuid", "noexec", "nodev", "ro"}}},
      // Only its own group, and only to look: the agent tells from it what was killed for memory.
      {{"destination", "/sys/fs/cgroup"},
       {"type", "cgroup"},
       {"source", "cgroup"},
       {"options", {"nosuid", "noexec", "nodev", "relatime", "ro"}}},
      {{"destination", kGuestAgent},
       {"type", "bind"},
       {"source", agent_path},
       {"options", {"bind", "ro", "nosuid", "nodev"}}},
  });
}

absl::StatusOr<json> UserMount(const Mount& mount) {
  if (mount.host_path.empty() || mount.host_path[0] != '/') {
    return absl::InvalidArgumentError(
        absl::StrCat("mount ", mount.host_path, ": the host path must be absolute"));
  }
  if (mount.guest_path.empty() || mount.guest_path[0] != '/') {
    return absl::InvalidArgumentError(
        absl::StrCat("mount ", mount.guest_path, ": the path in the sandbox must be absolute"));
  }
  CUBBY_ASSIGN_OR_RETURN(const std::string guest, NormalizePath(mount.guest_path, "/"));
  for (const char* reserved : kReservedPaths) {
    if (IsWithin(guest, reserved) || guest == "/") {
      return absl::InvalidArgumentError(
          absl::StrCat("mount ", guest, ": this path belongs to the sandbox itself"));
    }
  }
  struct stat st {};
  if (stat(mount.host_path.c_str(), &st) != 0) return ErrnoError(errno, "mount", mount.host_path);
  return json{{"destination", guest},
              {"type", "bind"},
              {"source", mount.host_path},
              {"options",
               {"rbind", "nosuid", "nodev", "rprivate",
                mount.access == MountAccess::kReadOnly ? "ro" : "rw"}}};
}

}  // namespace

absl::StatusOr<std::string> MakeOciConfig(const SandboxSpec& spec,
                                          const OciConfigOptions& options) {
  json mounts = StandardMounts(options.agent_path);
  for (const Mount& mount : spec.mounts) {
    CUBBY_ASSIGN_OR_RETURN(json entry, UserMount(mount));
    mounts.push_back(std::move(entry));
  }
  json capabilities = json::array();
  for (const char* capability : kCapabilities) capabilities.push_back(capability);
  json namespaces = json::array();
  for (const char* kind : {"pid", "network", "ipc", "uts", "mount", "cgroup"}) {
    namespaces.push_back({{"type", kind}});
  }
  const rlim_t files = HardFileLimit();
  json config = {
      {"ociVersion", "1.0.0"},
      {"hostname", spec.hostname.empty() ? "cubby" : spec.hostname},
      {"root", {{"path", options.rootfs}, {"readonly", false}}},
      {"mounts", mounts},
      {"process",
       {{"terminal", false},
        {"user", {{"uid", 0}, {"gid", 0}}},
        {"args", {kGuestAgent, "--listen-fd", "3"}},
        // The agent's own; what commands get travels over its stream.
        {"env", json::array({"PATH=/usr/sbin:/usr/bin:/sbin:/bin"})},
        {"cwd", "/"},
        {"noNewPrivileges", true},
        {"capabilities",
         {{"bounding", capabilities}, {"effective", capabilities}, {"permitted", capabilities}}},
        {"rlimits",
         {{{"type", "RLIMIT_NOFILE"}, {"hard", files}, {"soft", std::min(files, kSoftFiles)}},
          {{"type", "RLIMIT_CORE"}, {"hard", 0}, {"soft", 0}}}}}},
      {"linux",
       {{"namespaces", namespaces},
        {"maskedPaths", json::array()},
        {"readonlyPaths", json::array()},
        // Of the devices that the host has, only those that every runtime provides.
        {"resources", {{"devices", {{{"allow", false}, {"access", "rwm"}}}}}}}},
  };
  // The kernel then kills what the sandbox runs for its memory limit, and never the agent. Where
  // this host may not say so, the agent's commands still volunteer to go first.
  if (prctl(PR_CAPBSET_READ, CAP_SYS_RESOURCE) == 1) config["process"]["oomScoreAdj"] = -1000;
  for (const char* path : kMaskedPaths) config["linux"]["maskedPaths"].push_back(path);
  for (const char* path : kReadonlyPaths) config["linux"]["readonlyPaths"].push_back(path);
  if (options.seccomp == SeccompForm::kCompiled) {
    config["annotations"]["run.oci.seccomp_bpf_data"] = kCompiledFilter;
  } else {
    config["linux"]["seccomp"] = Seccomp();
  }
  if (!options.cgroups_path.empty()) config["linux"]["cgroupsPath"] = options.cgroups_path;
  return config.dump(1, ' ', false, json::error_handler_t::replace);
}

}  // namespace cubby
