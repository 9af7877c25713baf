#include "cubby/backend/container/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cubby/base/file.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr char kParent[] = "cubby";
constexpr const char* kControllers[] = {"memory", "cpu", "pids"};
// Version 1 counts processor time in a hierarchy of its own.
constexpr char kCpuAccounting[] = "cpuacct";
constexpr int64_t kCpuPeriodUs = 100000;
// Another process may remove the parent, which is empty, between our two steps.
constexpr int kMakeTries = 100;

int64_t ReadNumber(const std::string& path) {
  absl::StatusOr<std::string> text = ReadSmallFile(path, 4096);
  int64_t number = 0;
  return text.ok() && absl::SimpleAtoi(*text, &number) ? number : 0;
}

int64_t ReadKey(const std::string& path, absl::string_view key) {
  absl::StatusOr<std::string> text = ReadSmallFile(path, 65536);
  if (!text.ok()) return 0;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    int64_t number = 0;
    if (absl::ConsumePrefix(&line, key) && absl::ConsumePrefix(&line, " ") &&
        absl::SimpleAtoi(line, &number)) {
      return number;
    }
  }
  return 0;
}

// Where the kernel cannot do a thing that only refines a limit.
absl::Status IgnoreMissing(absl::Status status) {
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

void KillAll(const std::string& group) {
  // Version 2 kills a whole group at once; version 1 member by member.
  if (WriteExisting(group + "/cgroup.kill", "1").ok()) return;
  absl::StatusOr<std::string> procs = ReadSmallFile(group + "/cgroup.procs");
  if (!procs.ok()) return;
  for (absl::string_view line : absl::StrSplit(*procs, '\n', absl::SkipEmpty())) {
    int pid = 0;
    if (absl::SimpleAtoi(line, &pid) && pid > 0) kill(pid, SIGKILL);
  }
}

}  // namespace

CgroupHost::CgroupHost(std::string root) : root_(std::move(root)) {
  if (FileExists(root_ + "/cgroup.controllers")) {
    const std::string offered = ReadSmallFile(root_ + "/cgroup.controllers", 4096).value_or("");
    const std::vector<absl::string_view> names =
        absl::StrSplit(absl::StripSuffix(offered, "\n"), ' ');
    for (const char* controller : kControllers) {
      if (std::find(names.begin(), names.end(), controller) == names.end()) {
        problem_ = absl::StrCat("the control group version 2 controller ", controller,
                                " is not available");
        return;
      }
    }
    layout_ = Layout::kV2;
    return;
  }
  for (const char* controller : kControllers) {
    if (!FileExists(absl::StrCat(root_, "/", controller, "/cgroup.procs"))) {
      problem_ = absl::StrCat("no control groups at ", root_, " with the controller ", controller);
      return;
    }
  }
  layout_ = Layout::kV1;
}

std::string CgroupHost::hybrid_folder() const {
  const std::string folder = root_ + "/unified";
  return layout_ == Layout::kV1 && FileExists(folder + "/cgroup.controllers") ? folder : "";
}

std::vector<std::string> CgroupHost::Parents() const {
  if (layout_ == Layout::kV2) return {absl::StrCat(root_, "/", kParent)};
  std::vector<std::string> parents;
  for (const char* controller : kControllers) {
    parents.push_back(absl::StrCat(root_, "/", controller, "/", kParent));
  }
  if (FileExists(absl::StrCat(root_, "/", kCpuAccounting, "/cgroup.procs"))) {
    parents.push_back(absl::StrCat(root_, "/", kCpuAccounting, "/", kParent));
  }
  return parents;
}

std::vector<std::string> CgroupHost::AllParents() const {
  if (layout_ == Layout::kV2) return Parents();
  std::vector<std::string> parents;
  // A hierarchy that we do not use may hold a group that runc has made.
  const std::vector<std::string> hierarchies =
      ListDirectory(root_).value_or(std::vector<std::string>());
  for (const std::string& hierarchy : hierarchies) {
    parents.push_back(absl::StrCat(root_, "/", hierarchy, "/", kParent));
  }
  return parents;
}

std::string CgroupHost::Group(const std::string& controller, const std::string& id) const {
  return layout_ == Layout::kV2 ? absl::StrCat(root_, "/", kParent, "/", id)
                                : absl::StrCat(root_, "/", controller, "/", kParent, "/", id);
}

absl::Status CgroupHost::EnableControllers(const std::string& group) const {
  for (const char* controller : kControllers) {
    CUBBY_RETURN_IF_ERROR(
        WriteExisting(group + "/cgroup.subtree_control", absl::StrCat("+", controller)));
  }
  return absl::OkStatus();
}

absl::Status CgroupHost::MakeGroup(const std::string& parent, const std::string& id) const {
  const std::string group = absl::StrCat(parent, "/", id);
  for (int i = 0; i < kMakeTries; ++i) {
    if (mkdir(parent.c_str(), 0755) != 0 && errno != EEXIST) {
      return ErrnoError(errno, "make control group", parent);
    }
    if (layout_ == Layout::kV2) {
      CUBBY_RETURN_IF_ERROR(EnableControllers(root_));
      if (absl::Status status = EnableControllers(parent); !status.ok()) {
        if (absl::IsNotFound(status)) continue;
        return status;
      }
    }
    if (mkdir(group.c_str(), 0755) == 0) return absl::OkStatus();
    if (errno != ENOENT) return ErrnoError(errno, "make control group", group);
  }
  return absl::InternalError(
      absl::StrCat("make control group ", group, ": it is removed again and again"));
}

absl::Status CgroupHost::SetLimits(const std::string& id, const Limits& limits) const {
  const std::string memory = Group("memory", id);
  const std::string cpu = Group("cpu", id);
  const std::string pids = Group("pids", id);
  const std::string bytes = absl::StrCat(limits.memory_bytes);
  const int64_t quota = std::max<int64_t>(llround(limits.cpus * kCpuPeriodUs), 1000);
  if (layout_ == Layout::kV2) {
    CUBBY_RETURN_IF_ERROR(WriteExisting(memory + "/memory.max", bytes));
    // Absent where the kernel has no swap accounting.
    CUBBY_RETURN_IF_ERROR(IgnoreMissing(WriteExisting(memory + "/memory.swap.max", "0")));
    CUBBY_RETURN_IF_ERROR(WriteExisting(cpu + "/cpu.max", absl::StrCat(quota, " ", kCpuPeriodUs)));
  } else {
    CUBBY_RETURN_IF_ERROR(WriteExisting(memory + "/memory.limit_in_bytes", bytes));
    CUBBY_RETURN_IF_ERROR(
        IgnoreMissing(WriteExisting(memory + "/memory.memsw.limit_in_bytes", bytes)));
    CUBBY_RETURN_IF_ERROR(WriteExisting(cpu + "/cpu.cfs_period_us", absl::StrCat(kCpuPeriodUs)));
    CUBBY_RETURN_IF_ERROR(WriteExisting(cpu + "/cpu.cfs_quota_us", absl::StrCat(quota)));
  }
  return WriteExisting(pids + "/pids.max", absl::StrCat(limits.processes));
}

absl::Status CgroupHost::Create(const std::string& id, const Limits& limits) const {
  if (layout_ == Layout::kAbsent) {
    return absl::FailedPreconditionError(
        absl::StrCat("limits cannot be set: ", problem_, "; `cubby doctor` tells more"));
  }
  absl::Status status;
  for (const std::string& parent : Parents()) {
    status = MakeGroup(parent, id);
    if (!status.ok()) break;
  }
  if (status.ok()) status = SetLimits(id, limits);
  // What it leaves, if anything, is found again by its id.
  if (!status.ok()) Remove(id, Deadline::After(absl::Seconds(1))).IgnoreError();
  return status;
}

absl::StatusOr<std::vector<unique_fd>> CgroupHost::OpenProcs(const std::string& id) const {
  std::vector<unique_fd> procs;
  for (const std::string& parent : Parents()) {
    const std::string path = absl::StrCat(parent, "/", id, "/cgroup.procs");
    unique_fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid()) return ErrnoError(errno, "open", path);
    procs.push_back(std::move(fd));
  }
  return procs;
}

absl::Status CgroupHost::Remove(const std::string& id, Deadline deadline) const {
  for (const std::string& parent : AllParents()) {
    const std::string group = absl::StrCat(parent, "/", id);
    while (rmdir(group.c_str()) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) break;
      if (errno != EBUSY) return ErrnoError(errno, "remove control group", group);
      if (deadline.Expired()) {
        return MakeError(absl::StatusCode::kDeadlineExceeded,
                         absl::StrCat("remove control group ", group,
                                      ": its processes have been killed and do not end"),
                         {.error_number = EBUSY});
      }
      KillAll(group);
      // A killed process leaves its group when it is reaped; nothing tells us when on version 1.
      poll(nullptr, 0, 1);
    }
    // Not ours alone: it goes with the last machine.
    rmdir(parent.c_str());
  }
  return absl::OkStatus();
}

absl::StatusOr<MachineStats> CgroupHost::Stats(const std::string& id) const {
  const std::string memory = Group("memory", id);
  if (!FileExists(memory)) {
    return absl::NotFoundError(absl::StrCat("sandbox ", id, ": no control group"));
  }
  MachineStats stats;
  stats.processes = ReadNumber(Group("pids", id) + "/pids.current");
  if (layout_ == Layout::kV2) {
    stats.memory_bytes = ReadNumber(memory + "/memory.current");
    stats.memory_peak_bytes = ReadNumber(memory + "/memory.peak");
    stats.cpu_time = absl::Microseconds(ReadKey(memory + "/cpu.stat", "usage_usec"));
    stats.out_of_memory_kills = ReadKey(memory + "/memory.events", "oom_kill");
  } else {
    stats.memory_bytes = ReadNumber(memory + "/memory.usage_in_bytes");
    stats.memory_peak_bytes = ReadNumber(memory + "/memory.max_usage_in_bytes");
    stats.cpu_time = absl::Nanoseconds(ReadNumber(Group(kCpuAccounting, id) + "/cpuacct.usage"));
    stats.out_of_memory_kills = ReadKey(memory + "/memory.oom_control", "oom_kill");
  }
  return stats;
}

}  // namespace cubby
