// A command that was started in the sandbox, from its start until its output is no longer kept.
//
// It belongs to the agent and not to a connection: clients attach, lose their connection, and
// attach again from the byte that they have reached.
#ifndef CUBBY_AGENT_EXECUTION_H_
#define CUBBY_AGENT_EXECUTION_H_

#include <stdint.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cubby/agent/event_loop.h"
#include "cubby/agent/output_buffer.h"
#include "cubby/agent/supervisor.h"
#include "cubby/base/unique_fd.h"
#include "cubby/wire/agent.pb.h"

namespace cubby::agent {

inline constexpr int kOut = 0;
inline constexpr int kErr = 1;

// One attached client: what it has taken, and whom to wake when there is more. A following reader
// holds the command back rather than lose output.
struct Reader {
  Waker* waker = nullptr;
  bool follow = false;
  uint64_t offset[2] = {0, 0};
};

class Execution {
 public:
  struct Options {
    std::string id;
    std::string command;            // for listings
    std::string working_directory;  // for messages
    absl::Duration timeout = absl::InfiniteDuration();
    size_t output_limit = 0;
    bool follow = false;
    bool keep_stdin_open = false;
    bool terminal = false;
    uint16_t rows = 24;
    uint16_t columns = 80;
  };

  Execution(EventLoop* loop, Options options);
  ~Execution();

  // Opens the pipes or the terminal and starts the command; `plan` lacks only its stdio.
  absl::Status Start(CommandPlan plan, int notify_fd);

  // The supervisor has news, or has ended (and was reaped).
  void OnSupervisorNews();
  void OnSupervisorEnded();

  [[nodiscard]] const std::string& id() const { return options_.id; }
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] Supervisor* supervisor() { return supervisor_.get(); }
  // The command runs, or has run.
  [[nodiscard]] bool started() const { return supervisor_->command_pid() != 0; }
  // Why the command could not be started, or OK.
  [[nodiscard]] const absl::Status& start_status() const { return start_status_; }
  // The command has ended and its output is complete; `exited()` is valid.
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] const wire::Exited& exited() const { return exited_; }
  [[nodiscard]] absl::Duration age() const;
  [[nodiscard]] const OutputBuffer& output(int channel) const { return outputs_[channel]; }
  [[nodiscard]] size_t kept_bytes() const {
    return outputs_[kOut].kept_bytes() + outputs_[kErr].kept_bytes();
  }
  // Keeps nothing from now on. Pipes that a background job holds are still read, or it would die
  // of SIGPIPE.
  void DropOutput();
  [[nodiscard]] bool dropped() const { return dropped_; }

  void Attach(Reader* reader) { readers_.insert(reader); }
  [[nodiscard]] bool attached() const { return !readers_.empty(); }
  void Detach(Reader* reader);
  // The reader's offsets have moved: the command may go on writing.
  void OnConsumed();

  // Takes what it can of `bytes` for the command's input now; 0 when it reads too slowly (the
  // readers are woken when it can take more). All of it is swallowed once nobody can read it.
  size_t WriteInput(absl::string_view bytes);
  void CloseInput();

  absl::Status SendSignal(int signal);
  void KillEverything();
  absl::Status Resize(uint16_t rows, uint16_t columns);

  // Asked once, when a command dies by SIGKILL: did the kernel do it for lack of memory?
  std::function<bool()> was_out_of_memory;
  // Called once when the command has finished.
  std::function<void()> on_finished;

 private:
  absl::Status OpenPipes(CommandPlan* plan, unique_fd ends[3]);
  absl::Status OpenTerminal(CommandPlan* plan, unique_fd ends[3]);
  void OnReadable(int channel);
  // Reads what is there, at most `limit` bytes. False at the end of the stream.
  bool Drain(int channel, size_t limit);
  [[nodiscard]] size_t Room(int channel) const;
  void UpdateReading(int channel);
  void CloseOutput(int channel);
  void OnCommandEnded();
  void Finish();
  void OnLingered();
  void OnTimeout();
  void WakeReaders();

  EventLoop* loop_;
  const Options options_;
  std::unique_ptr<Supervisor> supervisor_;
  absl::Status start_status_;
  const absl::Duration started_at_;
  OutputBuffer outputs_[2];
  unique_fd output_fds_[2];
  bool reading_[2] = {false, false};
  unique_fd input_;  // for a terminal: a duplicate of its master side
  bool input_watched_ = false;
  std::set<Reader*> readers_;
  EventLoop::TimerId timeout_timer_ = 0;
  EventLoop::TimerId linger_timer_ = 0;
  bool timed_out_ = false;
  bool command_ended_ = false;
  bool finished_ = false;
  bool dropped_ = false;
  wire::Exited exited_;
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_EXECUTION_H_
