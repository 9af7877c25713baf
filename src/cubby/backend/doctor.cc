#include "cubby/backend/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <elf.h>
#include <string.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cubby/backend/container/cgroup.h"
#include "cubby/backend/container/overlay.h"
#include "cubby/backend/container/runtime.h"
#include "cubby/backend/kvm_probe.h"
#include "cubby/base/agent_program.h"
#include "cubby/base/file.h"
#include "cubby/base/subprocess.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr int64_t kScarceBytes = int64_t{2} << 30;
constexpr uint64_t kScarceInodes = 100000;

Check Ok(std::string name, std::string detail) {
  return {.name = std::move(name), .detail = std::move(detail)};
}
Check Missing(std::string name, std::string detail, std::string remedy) {
  return {std::move(name), Verdict::kMissing, std::move(detail), std::move(remedy)};
}
Check Warning(std::string name, std::string detail, std::string remedy) {
  return {std::move(name), Verdict::kWarning, std::move(detail), std::move(remedy)};
}

Check CheckPrivilege() {
  if (geteuid() == 0) return Ok("privilege", "root");
  return Missing("privilege", absl::StrCat("user ", geteuid()),
                 "container sandboxes need root: run cubby with sudo");
}

Check CheckRuntime(const DoctorOptions& options) {
  std::vector<std::string> candidates = {"crun", "runc"};
  if (!options.runtime.empty()) candidates = {options.runtime};
  for (const std::string& candidate : candidates) {
    absl::StatusOr<std::string> path = FindProgram(candidate);
    if (!path.ok()) continue;
    absl::StatusOr<CommandOutput> version =
        RunCommand({.argv = {*path, "--version"}}, Deadline::After(absl::Seconds(5)));
    if (!version.ok() || !version->status.success()) {
      return Missing("runtime", absl::StrCat(*path, " does not run"), "reinstall it");
    }
    const std::string first_line = version->out.substr(0, version->out.find('\n'));
    if (candidate == "crun" || !options.runtime.empty()) {
      return Ok("runtime", absl::StrCat(first_line, " at ", *path));
    }
    return Warning("runtime", absl::StrCat(first_line, " at ", *path),
                   "crun starts containers several times faster: apt-get install crun");
  }
  return Missing("runtime", "no OCI runtime", "apt-get install crun");
}

Check CheckCgroup(const DoctorOptions& options) {
  const CgroupHost cgroups(options.cgroup_root);
  switch (cgroups.layout()) {
    case CgroupHost::Layout::kV2:
      return Ok("cgroup", "version 2, with memory, cpu and pids");
    case CgroupHost::Layout::kV1:
      return Ok("cgroup", cgroups.hybrid_folder().empty() ? "version 1, with memory, cpu and pids"
                                                          : "hybrid: version 1 sets the limits");
    case CgroupHost::Layout::kAbsent:
      break;
  }
  return Missing("cgroup", cgroups.problem(),
                 "mount control groups with the memory, cpu and pids controllers; without them "
                 "no limit would hold");
}

Check CheckOverlay(const DoctorOptions& options) {
  absl::StatusOr<TemporaryDirectory> folder =
      TemporaryDirectory::Create(options.state_dir, "doctor-");
  if (!folder.ok()) {
    return Missing("overlay", std::string(folder.status().message()),
                   "name a folder that can be written with --state-dir");
  }
  const MachinePaths paths{.directory = folder->path() + "/machine"};
  const std::string layer = folder->path() + "/layer";
  absl::Status status = MakeDirectories(layer);
  if (status.ok()) status = MountOverlay({layer}, paths);
  if (absl::Status undone = UnmountAll(paths.rootfs()); status.ok()) status = undone;
  if (status.ok()) return Ok("overlay", absl::StrCat("works in ", options.state_dir));
  return Missing("overlay", std::string(status.message()),
                 "put the state directory on ext4 or xfs, and run as root");
}

std::string Sysctl(const DoctorOptions& options, const std::string& name) {
  absl::StatusOr<std::string> text = ReadSmallFile(absl::StrCat(options.proc, "/sys/", name), 256);
  return text.ok() ? std::string(absl::StripSuffix(*text, "\n")) : std::string();
}

Check CheckUserNamespaces(const DoctorOptions& options) {
  // What the kernel says is not what it does (AppArmor, seccomp): a child tries.
  const pid_t pid = fork();
  if (pid == 0) _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
  int status = 1;
  if (pid > 0) waitpid(pid, &status, 0);
  const bool works = pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (Sysctl(options, "kernel/unprivileged_userns_clone") == "0") {
    return Warning("user namespaces", "kernel.unprivileged_userns_clone is 0",
                   "sysctl kernel.unprivileged_userns_clone=1");
  }
  if (Sysctl(options, "kernel/apparmor_restrict_unprivileged_userns") == "1") {
    return Warning("user namespaces", "kernel.apparmor_restrict_unprivileged_userns is 1",
                   "sysctl kernel.apparmor_restrict_unprivileged_userns=0");
  }
  if (Sysctl(options, "user/max_user_namespaces") == "0") {
    return Warning("user namespaces", "user.max_user_namespaces is 0",
                   "sysctl user.max_user_namespaces=10000");
  }
  if (works) return Ok("user namespaces", "can be made");
  return Warning("user namespaces", "cannot be made here",
                 "allow unshare(CLONE_NEWUSER) where this machine itself is confined");
}

Check CheckKernelCalls() {
  std::vector<std::string> lacking;
  // Each with arguments that fail before anything happens: ENOSYS alone means that it is missing.
  if (syscall(SYS_pidfd_open, -1, 0) < 0 && errno == ENOSYS) lacking.emplace_back("pidfd_open");
  if (syscall(SYS_openat2, -1, nullptr, nullptr, 0) < 0 && errno == ENOSYS) {
    lacking.emplace_back("openat2");
  }
  if (syscall(SYS_close_range, 1U, 0U, 0U) < 0 && errno == ENOSYS) {
    lacking.emplace_back("close_range");
  }
  if (lacking.empty()) return Ok("kernel", "pidfd_open, openat2 and close_range are there");
  std::string names;
  for (const std::string& name : lacking) absl::StrAppend(&names, names.empty() ? "" : ", ", name);
  return Missing("kernel", absl::StrCat("no ", names), "Linux 5.11 or later is needed");
}

Check CheckKvm(const DoctorOptions& options) {
  const absl::Status status = ProbeKvm(options.kvm_device, options.kvm_deadline);
  if (status.ok()) {
    return Ok("kvm", "runs 64-bit code with paging (booting a whole kernel is not tried)");
  }
  const std::string remedy =
      absl::IsPermissionDenied(status) ? "add the user to the group kvm"
      : absl::IsNotFound(status)
          ? "not needed for containers; enable virtualisation for faster micro-VMs"
          : "not needed for containers; micro-VMs will be emulated here";
  return Warning("kvm", std::string(status.message()), remedy);
}

Check CheckDisk(const DoctorOptions& options) {
  struct statvfs st {};
  if (statvfs(options.state_dir.c_str(), &st) != 0) {
    return Missing("disk", absl::StrCat("cannot look at ", options.state_dir),
                   "create it, or name another with --state-dir");
  }
  const auto free_bytes = static_cast<int64_t>(st.f_bavail) * static_cast<int64_t>(st.f_frsize);
  const std::string detail = absl::StrCat(free_bytes >> 20, " MiB and ", st.f_favail,
                                          " inodes free in ", options.state_dir);
  if (free_bytes < kScarceBytes || (st.f_files > 0 && st.f_favail < kScarceInodes)) {
    return Warning("disk", detail, "free some space, `cubby image prune`, or use --state-dir");
  }
  return Ok("disk", detail);
}

// A program that names an interpreter needs files that no image has.
absl::StatusOr<bool> IsStatic(const std::string& path) {
  unique_fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, "open", path);
  Elf64_Ehdr header{};
  if (pread(fd.get(), &header, sizeof(header), 0) != sizeof(header) ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a program"));
  }
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    const auto at = static_cast<off_t>(header.e_phoff + static_cast<uint64_t>(i) * sizeof(part));
    if (pread(fd.get(), &part, sizeof(part), at) != sizeof(part)) break;
    if (part.p_type == PT_INTERP) return false;
  }
  return true;
}

Check CheckAgent(const DoctorOptions& options) {
  absl::StatusOr<std::string> path = FindAgentProgram(options.agent_path);
  if (!path.ok()) {
    return Missing("agent", std::string(path.status().message()), "reinstall cubby");
  }
  absl::StatusOr<bool> is_static = IsStatic(*path);
  if (!is_static.ok()) {
    return Missing("agent", std::string(is_static.status().message()), "reinstall cubby");
  }
  if (!*is_static) {
    return Missing("agent", absl::StrCat(*path, " is not static and runs in no image"),
                   "build it without sanitizers");
  }
  return Ok("agent", *path);
}

}  // namespace

std::vector<Check> ProbeHost(const DoctorOptions& options) {
  return {CheckPrivilege(),      CheckRuntime(options),        CheckCgroup(options),
          CheckOverlay(options), CheckUserNamespaces(options), CheckKernelCalls(),
          CheckKvm(options),     CheckDisk(options),           CheckAgent(options)};
}

}  // namespace cubby
