// Starts commands so that everything they start can be found and killed.
//
// Every command has a supervisor: a process between the agent and the command that is the
// sub-reaper of all its descendants (prctl(2), PR_SET_CHILD_SUBREAPER). A grandchild that calls
// setsid, closes its pipes and loses its parent is still a descendant of its supervisor, and of no
// other; that is what a time-out kills.
//
// A supervisor costs a clone(2) without a copy of memory: it shares the agent's address space,
// runs on a small stack of its own, and makes nothing but raw system calls. It ends when its last
// descendant has.
#ifndef CUBBY_AGENT_SUPERVISOR_H_
#define CUBBY_AGENT_SUPERVISOR_H_

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cubby::agent {

struct CommandPlan {
  std::vector<std::string> candidates;  // full paths of the program, tried in order
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string working_directory;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  // The command's 0, 1 and 2. With a terminal all three are its slave side, which becomes the
  // controlling terminal.
  int stdio[3] = {-1, -1, -1};
  enum class Terminal { kNo, kYes } terminal = Terminal::kNo;
};

class Supervisor {
 public:
  // `notify_fd` is an eventfd that is written when started() or ended() changes; the end of the
  // supervisor itself is a SIGCHLD.
  static absl::StatusOr<std::unique_ptr<Supervisor>> Start(CommandPlan plan, int notify_fd);
  // The process must have been reaped.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // The command's process, 0 until it runs.
  [[nodiscard]] pid_t command_pid() const { return shared_.command_pid.load(); }
  // errno of the step that kept it from running, 0 when it runs or is not there yet.
  [[nodiscard]] int start_error() const { return shared_.error_number.load(); }
  [[nodiscard]] const char* failed_step() const { return shared_.failed_step; }
  [[nodiscard]] bool started() const { return command_pid() != 0 || start_error() != 0; }
  [[nodiscard]] bool command_ended() const { return shared_.ended.load(); }
  // As from wait(2).
  [[nodiscard]] int wait_status() const { return shared_.wait_status.load(); }

  // The agent has reaped the supervisor.
  void SetReaped() { reaped_ = true; }
  [[nodiscard]] bool reaped() const { return reaped_; }
  // The agent has reaped the command: its supervisor was killed before it.
  void SetCommandEnded(int wait_status);

  // Stops and kills every process that descends from the supervisor, and not the supervisor.
  void KillDescendants() const;

  // What the supervisor and the command's process write and the agent reads, in shared memory.
  struct Shared {
    std::atomic<pid_t> command_pid{0};
    std::atomic<int> error_number{0};
    const char* failed_step = "";
    std::atomic<int> wait_status{0};
    std::atomic<bool> ended{false};
  };

  // Pointers into the plan, since the child must not allocate.
  struct Prepared {
    CommandPlan plan;
    std::vector<const char*> candidates;
    std::vector<char*> argv;
    std::vector<char*> environment;
    int notify_fd = -1;
    Shared* shared = nullptr;
    char* command_stack_top = nullptr;
  };

 private:
  Supervisor() = default;
  [[nodiscard]] std::vector<pid_t> Everything() const;

  Shared shared_;
  Prepared prepared_;
  void* stacks_ = nullptr;
  pid_t pid_ = 0;
  bool reaped_ = false;
};

// Processes that descend from `root`, by /proc; zombies are left out.
std::vector<pid_t> Descendants(pid_t root);

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_SUPERVISOR_H_
