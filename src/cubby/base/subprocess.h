// Processes of the host that the engine starts: OCI runtimes, QEMU, credential helpers.
//
// Spawn never copies the caller's address space (CLONE_VM | CLONE_VFORK, as posix_spawn does), so
// it costs the same from a process of 10 MiB and of 10 GiB. A child gets exactly the descriptors
// that it is given: everything else is closed.
#ifndef CUBBY_BASE_SUBPROCESS_H_
#define CUBBY_BASE_SUBPROCESS_H_

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cubby/base/deadline.h"
#include "cubby/base/unique_fd.h"

namespace cubby {

struct SpawnOptions {
  std::vector<std::string> argv;         // argv[0] is looked up in PATH when it has no slash
  std::vector<std::string> environment;  // "KEY=value"; nothing is inherited
  std::string working_directory;         // empty: the caller's
  // (descriptor here, descriptor in the child). 0, 1 and 2 that are not named are /dev/null.
  std::vector<std::pair<int, int>> descriptors;
  // Descriptors of open cgroup.procs files; the child enters each before it runs the program.
  std::vector<int> cgroup_procs;
  // Folders that the child must not see: it gets a mount namespace of its own in which each is
  // covered by an empty one.
  std::vector<std::string> hidden_folders;
};

struct ExitStatus {
  int code = 0;    // meaningful when signal is 0
  int signal = 0;  // the signal that ended it, or 0
  [[nodiscard]] bool success() const { return code == 0 && signal == 0; }
  [[nodiscard]] std::string ToString() const;
};

// A running child. Killed and reaped when its owner lets go of it without Wait.
class Subprocess {
 public:
  // NOT_FOUND when the program is missing; otherwise the errno of the step that failed.
  static absl::StatusOr<Subprocess> Spawn(const SpawnOptions& options);

  Subprocess(Subprocess&&) noexcept;
  Subprocess& operator=(Subprocess&&) = delete;
  ~Subprocess();

  [[nodiscard]] pid_t pid() const { return pid_; }

  // DEADLINE_EXCEEDED leaves the child running.
  absl::StatusOr<ExitStatus> Wait(Deadline deadline);
  void Kill(int signal);

 private:
  Subprocess(pid_t pid, unique_fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  pid_t pid_;
  unique_fd pidfd_;  // invalid once reaped
};

struct CommandOutput {
  ExitStatus status;
  std::string out;
  std::string err;
};

// Runs a program to its end with `input` on its standard input and collects at most
// `max_output_bytes` of each stream (more ends it with RESOURCE_EXHAUSTED). At the deadline the
// program is killed. A non-zero exit is not an error of the call.
absl::StatusOr<CommandOutput> RunCommand(SpawnOptions options, Deadline deadline,
                                         absl::string_view input = {},
                                         size_t max_output_bytes = 16 << 20);

// The full path of a program in PATH and the usual sbin folders; NOT_FOUND says how it was named.
absl::StatusOr<std::string> FindProgram(const std::string& name);

}  // namespace cubby

#endif  // CUBBY_BASE_SUBPROCESS_H_
