#include "cubby/base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr size_t kChildStackBytes = 64 << 10;

// What the child needs, prepared by the parent: between clone and exec the child shares the
// parent's memory and may only make system calls.
struct ChildPlan {
  const char* program;
  char* const* argv;
  char* const* envp;
  const char* working_directory;  // nullptr: unchanged
  const std::pair<int, int>* descriptors;
  size_t descriptor_count;
  const int* cgroup_procs;
  size_t cgroup_count;
  const std::string* hidden_folders;
  size_t hidden_count;
  int highest_target;
  sigset_t callers_mask;
  const char* failed_step;  // written by the child
  int error_number;         // written by the child, 0 when exec worked
};

[[noreturn]] void FailChild(ChildPlan* plan, const char* step) {
  plan->failed_step = step;
  plan->error_number = errno;
  _exit(127);
}

int RunChild(void* argument) {
  auto* plan = static_cast<ChildPlan*>(argument);
  for (size_t i = 0; i < plan->cgroup_count; ++i) {
    if (write(plan->cgroup_procs[i], "0", 1) != 1) FailChild(plan, "enter cgroup");
  }
  if (plan->hidden_count > 0) {
    if (unshare(CLONE_NEWNS) != 0) FailChild(plan, "unshare");
    // Not private: mounts that the host undoes must vanish here too.
    if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) FailChild(plan, "mount");
  }
  for (size_t i = 0; i < plan->hidden_count; ++i) {
    if (mount("none", plan->hidden_folders[i].c_str(), "tmpfs", MS_RDONLY, "size=4k") != 0) {
      FailChild(plan, "mount");
    }
  }
  // Caught signals are reset by exec; ignored ones are not, and a runtime should not inherit an
  // ignored SIGPIPE.
  for (int signal : {SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGCHLD}) {
    ::signal(signal, SIG_DFL);
  }
  if (setsid() < 0) FailChild(plan, "setsid");
  if (plan->working_directory != nullptr && chdir(plan->working_directory) != 0) {
    FailChild(plan, "chdir");
  }
  // Two passes, since a target number may be the source of a later pair: first above every target,
  // then down into place.
  int moved[64];
  for (size_t i = 0; i < plan->descriptor_count; ++i) {
    moved[i] = fcntl(plan->descriptors[i].first, F_DUPFD_CLOEXEC, plan->highest_target + 1);
    if (moved[i] < 0) FailChild(plan, "dup");
  }
  bool standard[3] = {};
  for (size_t i = 0; i < plan->descriptor_count; ++i) {
    const int target = plan->descriptors[i].second;
    if (dup2(moved[i], target) < 0) FailChild(plan, "dup2");
    if (target < 3) standard[target] = true;
  }
  for (int fd = 0; fd < 3; ++fd) {
    if (standard[fd]) continue;
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) FailChild(plan, "open /dev/null");
    // dup2 onto itself would keep close-on-exec.
    if (null == fd) {
      fcntl(fd, F_SETFD, 0);
    } else if (dup2(null, fd) < 0) {
      FailChild(plan, "dup2");
    }
  }
  // Every other descriptor becomes close-on-exec; the kept ones are contiguous or named, so mark
  // all above 2 and then clear the mark on the named ones.
  syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
  for (size_t i = 0; i < plan->descriptor_count; ++i) {
    fcntl(plan->descriptors[i].second, F_SETFD, 0);
  }
  // Signals that a thread of ours has blocked are not the child's business.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(plan->program, plan->argv, plan->envp);
  FailChild(plan, "exec");
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

bool IsExecutableFile(const std::string& path) {
  struct stat st {};
  return stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string ExitStatus::ToString() const {
  if (signal == 0) return absl::StrCat("exit code ", code);
  return absl::StrCat("killed by signal ", signal);
}

absl::StatusOr<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (IsExecutableFile(name)) return name;
    return MakeError(absl::StatusCode::kNotFound, absl::StrCat("no program at ", name),
                     {.error_number = ENOENT, .path = name});
  }
  const char* path = getenv("PATH");
  const std::string folders =
      absl::StrCat(path != nullptr ? path : "", ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin");
  for (absl::string_view folder : absl::StrSplit(folders, ':', absl::SkipEmpty())) {
    std::string candidate = absl::StrCat(folder, "/", name);
    if (IsExecutableFile(candidate)) return candidate;
  }
  return MakeError(absl::StatusCode::kNotFound, absl::StrCat("program ", name, " is not in PATH"),
                   {.error_number = ENOENT, .path = name});
}

absl::StatusOr<Subprocess> Subprocess::Spawn(const SpawnOptions& options) {
  if (options.argv.empty()) return absl::InvalidArgumentError("spawn: argv is empty");
  if (options.descriptors.size() > 64) {
    return absl::InvalidArgumentError("spawn: more than 64 descriptors");
  }
  CUBBY_ASSIGN_OR_RETURN(const std::string program, FindProgram(options.argv[0]));
  const std::vector<char*> argv = Pointers(options.argv);
  const std::vector<char*> envp = Pointers(options.environment);
  int highest = 2;
  for (const auto& [from, to] : options.descriptors) highest = std::max(highest, to);

  ChildPlan plan{.program = program.c_str(),
                 .argv = argv.data(),
                 .envp = envp.data(),
                 .working_directory = options.working_directory.empty()
                                          ? nullptr
                                          : options.working_directory.c_str(),
                 .descriptors = options.descriptors.data(),
                 .descriptor_count = options.descriptors.size(),
                 .cgroup_procs = options.cgroup_procs.data(),
                 .cgroup_count = options.cgroup_procs.size(),
                 .hidden_folders = options.hidden_folders.data(),
                 .hidden_count = options.hidden_folders.size(),
                 .highest_target = highest};
  void* stack = mmap(nullptr, kChildStackBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return ErrnoError(errno, "mmap");
  // No handler of this process may run in the child, on memory that both share.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &plan.callers_mask);
  int pidfd = -1;
  const pid_t pid =
      clone(RunChild, static_cast<char*>(stack) + kChildStackBytes,
            CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &plan, &pidfd, nullptr, nullptr);
  const int clone_errno = errno;
  pthread_sigmask(SIG_SETMASK, &plan.callers_mask, nullptr);
  munmap(stack, kChildStackBytes);
  if (pid < 0) return ErrnoError(clone_errno, "clone");
  Subprocess process(pid, unique_fd(pidfd));
  if (plan.error_number != 0) {
    return ErrnoError(plan.error_number, absl::StrCat(plan.failed_step, " for ", program));
  }
  return process;
}

Subprocess::Subprocess(Subprocess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}

Subprocess::~Subprocess() {
  if (!pidfd_.valid()) return;
  Kill(SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Subprocess::Kill(int signal) {
  if (pidfd_.valid()) syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
}

absl::StatusOr<ExitStatus> Subprocess::Wait(Deadline deadline) {
  if (!pidfd_.valid()) return absl::FailedPreconditionError("wait: already reaped");
  pollfd poller{.fd = pidfd_.get(), .events = POLLIN};
  int ready;
  do {
    ready = poll(&poller, 1, deadline.PollTimeoutMs());
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return ErrnoError(errno, "poll");
  if (ready == 0) return absl::DeadlineExceededError("the process has not ended in time");
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) return ErrnoError(errno, "waitpid");
  pidfd_.reset();
  if (WIFSIGNALED(status)) return ExitStatus{.signal = WTERMSIG(status)};
  return ExitStatus{.code = WEXITSTATUS(status)};
}

absl::StatusOr<CommandOutput> RunCommand(SpawnOptions options, Deadline deadline,
                                         absl::string_view input, size_t max_output_bytes) {
  int in[2], out[2], err[2];
  if (pipe2(in, O_CLOEXEC) != 0) return ErrnoError(errno, "pipe");
  unique_fd in_read(in[0]), in_write(in[1]);
  if (pipe2(out, O_CLOEXEC) != 0) return ErrnoError(errno, "pipe");
  unique_fd out_read(out[0]), out_write(out[1]);
  if (pipe2(err, O_CLOEXEC) != 0) return ErrnoError(errno, "pipe");
  unique_fd err_read(err[0]), err_write(err[1]);
  for (auto [fd, target] :
       {std::pair{in_read.get(), 0}, {out_write.get(), 1}, {err_write.get(), 2}}) {
    options.descriptors.emplace_back(fd, target);
  }
  CUBBY_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Spawn(options));
  in_read.reset();
  out_write.reset();
  err_write.reset();
  fcntl(in_write.get(), F_SETFL, O_NONBLOCK);
  if (input.empty()) in_write.reset();

  CommandOutput result;
  char buffer[65536];
  while (out_read.valid() || err_read.valid()) {
    pollfd pollers[3] = {{.fd = out_read.get(), .events = POLLIN},
                         {.fd = err_read.get(), .events = POLLIN},
                         {.fd = in_write.get(), .events = POLLOUT}};
    const int ready = poll(pollers, 3, deadline.PollTimeoutMs());
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return ErrnoError(errno, "poll");
    if (ready == 0) {
      return absl::DeadlineExceededError(
          absl::StrCat(options.argv[0], ": has not ended in time; it was killed"));
    }
    if (pollers[2].revents != 0) {
      // A child that closed its input has read all it wants. SIGPIPE is avoided by looking first.
      const ssize_t n = (pollers[2].revents & POLLERR) != 0
                            ? -1
                            : write(in_write.get(), input.data(), input.size());
      if (n > 0) input.remove_prefix(static_cast<size_t>(n));
      if (n < 0 || input.empty()) in_write.reset();
    }
    for (auto [index, fd, text] :
         {std::tuple{0, &out_read, &result.out}, {1, &err_read, &result.err}}) {
      if (pollers[index].revents == 0) continue;
      const ssize_t n = read(fd->get(), buffer, sizeof(buffer));
      if (n <= 0) {
        fd->reset();
        continue;
      }
      text->append(buffer, static_cast<size_t>(n));
      if (text->size() > max_output_bytes) {
        return absl::ResourceExhaustedError(absl::StrCat(
            options.argv[0], ": wrote more than ", max_output_bytes, " bytes; it was killed"));
      }
    }
  }
  CUBBY_ASSIGN_OR_RETURN(result.status, process.Wait(deadline));
  return result;
}

}  // namespace cubby
