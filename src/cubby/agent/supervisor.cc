#include "cubby/agent/supervisor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cubby/agent/raw_syscall.h"
#include "cubby/base/unique_fd.h"
#include "cubby/status.h"

// The code between clone and exec runs in a process that shares the agent's memory: sanitizers
// would take its stack for somebody else's.
#define CUBBY_RAW __attribute__((no_sanitize("address", "undefined", "thread")))

namespace cubby::agent {
namespace {

// One stack for the supervisor, one for the command's process until it executes its program.
constexpr size_t kStackBytes = 16 << 10;

long Arg(const void* pointer) { return reinterpret_cast<long>(pointer); }

void Notify(const Supervisor::Prepared& prepared) {
  const uint64_t one = 1;
  RawSyscall(SYS_write, prepared.notify_fd, Arg(&one), sizeof(one));
}

CUBBY_RAW int Fail(Supervisor::Prepared* prepared, const char* step, long error) {
  prepared->shared->failed_step = step;
  prepared->shared->error_number.store(static_cast<int>(-error));
  return 127;
}

// The kernel's form of a signal's disposition; the C library's differs.
struct KernelSigaction {
  void* handler;
  unsigned long flags;
  void* restorer;
  unsigned long mask;
};

// The agent handles no signal and ignores SIGPIPE alone (main.cc); exec keeps what is ignored.
CUBBY_RAW void ResetSignals() {
  KernelSigaction action{};  // SIG_DFL
  RawSyscall(SYS_rt_sigaction, SIGPIPE, Arg(&action), 0, sizeof(action.mask));
  const unsigned long none = 0;
  RawSyscall(SYS_rt_sigprocmask, SIG_SETMASK, Arg(&none), 0, sizeof(none));
}

// When the sandbox's memory is full the kernel takes a command, and not the agent.
CUBBY_RAW void VolunteerForOutOfMemory() {
  const long fd =
      RawSyscall(SYS_openat, AT_FDCWD, Arg("/proc/self/oom_score_adj"), O_WRONLY | O_CLOEXEC, 0);
  if (fd < 0) return;
  RawSyscall(SYS_write, fd, Arg("500"), 3);
  RawSyscall(SYS_close, fd);
}

CUBBY_RAW int RunCommandProcess(void* argument) {
  auto* prepared = static_cast<Supervisor::Prepared*>(argument);
  const CommandPlan& plan = prepared->plan;
  ResetSignals();
  VolunteerForOutOfMemory();
  long result = RawSyscall(SYS_setsid);
  if (result < 0) return Fail(prepared, "setsid", result);
  for (int fd = 0; fd < 3; ++fd) {
    // The sources are above 2 (the agent keeps 0, 1 and 2 open), so none is overwritten.
    result = RawSyscall(SYS_dup3, plan.stdio[fd], fd, 0);
    if (result < 0) return Fail(prepared, "dup", result);
  }
  RawSyscall(SYS_close_range, 3, ~0U, 0);
  if (plan.terminal == CommandPlan::Terminal::kYes) {
    result = RawSyscall(SYS_ioctl, 0, TIOCSCTTY, 0);
    if (result < 0) return Fail(prepared, "take the terminal", result);
  }
  if (plan.uid != 0 || plan.gid != 0) {
    result =
        RawSyscall(SYS_setgroups, static_cast<long>(plan.groups.size()), Arg(plan.groups.data()));
    if (result < 0) return Fail(prepared, "set groups", result);
    result = RawSyscall(SYS_setresgid, plan.gid, plan.gid, plan.gid);
    if (result < 0) return Fail(prepared, "set group", result);
    result = RawSyscall(SYS_setresuid, plan.uid, plan.uid, plan.uid);
    if (result < 0) return Fail(prepared, "set user", result);
  }
  result = RawSyscall(SYS_chdir, Arg(plan.working_directory.c_str()));
  if (result < 0) return Fail(prepared, "enter the working directory", result);
  long error = -ENOENT;
  for (const char* candidate : prepared->candidates) {
    result = RawSyscall(SYS_execve, Arg(candidate), Arg(prepared->argv.data()),
                        Arg(prepared->environment.data()));
    // As execvp(3): go on looking, and report "no permission" over "not there".
    if (result == -EACCES) {
      error = result;
    } else if (result != -ENOENT && result != -ENOTDIR) {
      return Fail(prepared, "execute", result);
    }
  }
  return Fail(prepared, "execute", error);
}

CUBBY_RAW int RunSupervisor(void* argument) {
  auto* prepared = static_cast<Supervisor::Prepared*>(argument);
  Supervisor::Shared* shared = prepared->shared;
  RawSyscall(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
  const long pid = RawClone(CLONE_VM | CLONE_VFORK | SIGCHLD, prepared->command_stack_top,
                            RunCommandProcess, prepared);
  if (pid < 0) {
    Fail(prepared, "clone", pid);
    return 127;
  }
  if (shared->error_number.load() != 0) {
    int status = 0;
    RawSyscall(SYS_wait4, pid, Arg(&status), 0, 0);
    return 127;
  }
  shared->command_pid.store(static_cast<pid_t>(pid));
  Notify(*prepared);
  // Its own copies of the pipes would hold them open for as long as a background job lives.
  const long notify_fd = prepared->notify_fd;
  if (notify_fd > 0) RawSyscall(SYS_close_range, 0, notify_fd - 1, 0);
  RawSyscall(SYS_close_range, notify_fd + 1, ~0U, 0);
  bool told = true;
  while (true) {
    int status = 0;
    const long ended = RawSyscall(SYS_wait4, -1, Arg(&status), told ? 0 : WNOHANG, 0);
    if (ended == -EINTR) continue;
    if (ended == 0) {  // the command has ended and others live on
      Notify(*prepared);
      told = true;
      continue;
    }
    if (ended < 0) return 0;  // nobody is left: the agent learns it, and all else, from our end
    if (ended == pid) {
      shared->wait_status.store(status);
      shared->ended.store(true);
      told = false;
    }
  }
}

struct ProcessStat {
  pid_t pid;
  pid_t parent;
  char state;
};

bool ReadProcessStat(int proc, const char* name, ProcessStat* stat) {
  char path[300];
  snprintf(path, sizeof(path), "%s/stat", name);
  unique_fd fd(openat(proc, path, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return false;
  char text[512];
  const ssize_t n = read(fd.get(), text, sizeof(text) - 1);
  if (n <= 0) return false;
  text[n] = '\0';
  // The command's name stands in parentheses and may hold any byte, also ')'.
  const char* after_name = strrchr(text, ')');
  if (after_name == nullptr) return false;
  stat->pid = static_cast<pid_t>(atoi(name));
  return sscanf(after_name + 1, " %c %d", &stat->state, &stat->parent) == 2;
}

}  // namespace

std::vector<pid_t> Descendants(pid_t root) {
  std::multimap<pid_t, ProcessStat> by_parent;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return {};
  while (const dirent* entry = readdir(proc)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    ProcessStat stat{};
    if (ReadProcessStat(dirfd(proc), entry->d_name, &stat)) by_parent.emplace(stat.parent, stat);
  }
  closedir(proc);
  std::vector<pid_t> found;
  std::vector<pid_t> parents = {root};
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    for (auto [at, end] = by_parent.equal_range(parent); at != end; ++at) {
      parents.push_back(at->second.pid);
      if (at->second.state != 'Z' && at->second.state != 'X') found.push_back(at->second.pid);
    }
    by_parent.erase(parent);  // a listing read over time may hold a cycle
  }
  return found;
}

absl::StatusOr<std::unique_ptr<Supervisor>> Supervisor::Start(CommandPlan plan, int notify_fd) {
  std::unique_ptr<Supervisor> supervisor(new Supervisor);
  Prepared& prepared = supervisor->prepared_;
  prepared.plan = std::move(plan);
  for (const std::string& candidate : prepared.plan.candidates) {
    prepared.candidates.push_back(candidate.c_str());
  }
  for (std::string& word : prepared.plan.argv) prepared.argv.push_back(word.data());
  prepared.argv.push_back(nullptr);
  for (std::string& entry : prepared.plan.environment) prepared.environment.push_back(entry.data());
  prepared.environment.push_back(nullptr);
  prepared.notify_fd = notify_fd;
  prepared.shared = &supervisor->shared_;
  void* stacks = mmap(nullptr, 2 * kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stacks == MAP_FAILED) return ErrnoError(errno, "mmap");
  supervisor->stacks_ = stacks;
  char* supervisor_top = static_cast<char*>(stacks) + kStackBytes;
  prepared.command_stack_top = supervisor_top + kStackBytes;
  // The agent's handlers must not run on the supervisor's stack.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const long pid = RawClone(CLONE_VM | SIGCHLD, supervisor_top, RunSupervisor, &prepared);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return ErrnoError(static_cast<int>(-pid), "start a process");
  supervisor->pid_ = static_cast<pid_t>(pid);
  return supervisor;
}

Supervisor::~Supervisor() {
  if (stacks_ != nullptr) munmap(stacks_, 2 * kStackBytes);
}

void Supervisor::SetCommandEnded(int wait_status) {
  shared_.wait_status.store(wait_status);
  shared_.ended.store(true);
}

std::vector<pid_t> Supervisor::Everything() const {
  if (!reaped_) return Descendants(pid_);
  // A root of the sandbox can kill a supervisor; its descendants then fall to the agent, and the
  // command's own tree is what can still be told apart.
  if (command_pid() == 0 || command_ended()) return {};
  std::vector<pid_t> found = Descendants(command_pid());
  found.push_back(command_pid());
  return found;
}

void Supervisor::KillDescendants() const {
  // First everything is stopped, so that nothing forks while we look; a process that is born
  // between two looks is found by the next. A bounded number of looks: what a fork bomb adds is
  // bounded by the sandbox's process limit.
  constexpr int kMaxLooks = 200;
  std::vector<pid_t> stopped;
  for (int look = 0; look < kMaxLooks; ++look) {
    std::vector<pid_t> now = Everything();
    std::sort(now.begin(), now.end());
    if (now == stopped) break;
    for (pid_t pid : now) kill(pid, SIGSTOP);
    stopped = std::move(now);
  }
  for (int look = 0; look < kMaxLooks; ++look) {
    const std::vector<pid_t> now = Everything();
    if (now.empty()) break;
    for (pid_t pid : now) kill(pid, SIGKILL);
  }
}

}  // namespace cubby::agent
