#include "cubby/agent/execution.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/deadline.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby::agent {
namespace {

// What a following client may lag behind before the command is held back, and what is kept for a
// client that comes back.
constexpr size_t kFollowedTailBytes = 1 << 20;
constexpr size_t kReadBytes = 64 << 10;
// How long output may still come after the command has ended while a background job holds its
// pipes. [C-19]
constexpr absl::Duration kLinger = absl::Milliseconds(200);

OutputBuffer MakeBuffer(const Execution::Options& options) {
  if (options.follow) return OutputBuffer(0, kFollowedTailBytes);
  const size_t head = options.output_limit / 2;
  return OutputBuffer(head, options.output_limit - head);
}

absl::Status StartError(const Supervisor& supervisor, const std::string& program,
                        const std::string& working_directory) {
  const int error = supervisor.start_error();
  const absl::string_view step = supervisor.failed_step();
  if (step == "execute" && (error == ENOENT || error == ENOTDIR)) {
    return MakeError(absl::StatusCode::kNotFound,
                     absl::StrCat("no such program in the sandbox: ", program),
                     {.error_number = error, .path = program});
  }
  if (step == "enter the working directory") return ErrnoError(error, step, working_directory);
  return ErrnoError(error, step, program);
}

}  // namespace

Execution::Execution(EventLoop* loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      started_at_(MonotonicNow()),
      outputs_{MakeBuffer(options_), MakeBuffer(options_)} {}

Execution::~Execution() {
  for (int channel : {kOut, kErr}) CloseOutput(channel);
  CloseInput();
  if (timeout_timer_ != 0) loop_->CancelTimer(timeout_timer_);
  if (linger_timer_ != 0) loop_->CancelTimer(linger_timer_);
}

absl::Duration Execution::age() const { return MonotonicNow() - started_at_; }

absl::Status Execution::OpenPipes(CommandPlan* plan, unique_fd ends[3]) {
  int fds[2];
  if (options_.keep_stdin_open) {
    if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoError(errno, "pipe");
    ends[0].reset(fds[0]);
    input_.reset(fds[1]);
  } else {
    ends[0].reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
    // An image may have no /dev; the reading end of a pipe that nobody writes is as empty.
    if (!ends[0].valid()) {
      if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoError(errno, "pipe");
      ends[0].reset(fds[0]);
      close(fds[1]);
    }
  }
  for (int channel : {kOut, kErr}) {
    if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoError(errno, "pipe");
    output_fds_[channel].reset(fds[0]);
    ends[channel + 1].reset(fds[1]);
  }
  for (int fd = 0; fd < 3; ++fd) plan->stdio[fd] = ends[fd].get();
  return absl::OkStatus();
}

absl::Status Execution::OpenTerminal(CommandPlan* plan, unique_fd ends[3]) {
  unique_fd master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master.valid()) return ErrnoError(errno, "open a terminal");
  char name[64];
  if (unlockpt(master.get()) != 0 || ptsname_r(master.get(), name, sizeof(name)) != 0) {
    return ErrnoError(errno, "unlock the terminal");
  }
  ends[0].reset(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!ends[0].valid()) return ErrnoError(errno, "open", name);
  const winsize size{.ws_row = options_.rows, .ws_col = options_.columns};
  ioctl(master.get(), TIOCSWINSZ, &size);
  // The command's user must be able to open it by name.
  if (fchown(ends[0].get(), plan->uid, static_cast<gid_t>(-1)) != 0) {
    return ErrnoError(errno, "chown", name);
  }
  for (int& fd : plan->stdio) fd = ends[0].get();
  plan->terminal = CommandPlan::Terminal::kYes;
  input_.reset(fcntl(master.get(), F_DUPFD_CLOEXEC, 3));
  if (!input_.valid()) return ErrnoError(errno, "dup");
  output_fds_[kOut] = std::move(master);
  return absl::OkStatus();
}

absl::Status Execution::Start(CommandPlan plan, int notify_fd) {
  unique_fd ends[3];
  CUBBY_RETURN_IF_ERROR(options_.terminal ? OpenTerminal(&plan, ends) : OpenPipes(&plan, ends));
  CUBBY_ASSIGN_OR_RETURN(supervisor_, Supervisor::Start(std::move(plan), notify_fd));
  if (input_.valid()) fcntl(input_.get(), F_SETFL, O_NONBLOCK);
  for (int channel : {kOut, kErr}) {
    if (!output_fds_[channel].valid()) continue;
    fcntl(output_fds_[channel].get(), F_SETFL, O_NONBLOCK);
    CUBBY_RETURN_IF_ERROR(loop_->Watch(output_fds_[channel].get(), EPOLLIN,
                                       [this, channel](uint32_t) { OnReadable(channel); }));
    reading_[channel] = true;
  }
  if (options_.timeout != absl::InfiniteDuration()) {
    timeout_timer_ = loop_->After(options_.timeout, [this] { OnTimeout(); });
  }
  return absl::OkStatus();
}

size_t Execution::Room(int channel) const {
  const OutputBuffer& output = outputs_[channel];
  size_t room = kReadBytes;
  for (const Reader* reader : readers_) {
    if (!reader->follow) continue;
    const uint64_t lag = output.total() - std::min(reader->offset[channel], output.total());
    room = std::min(room, output.tail_limit() - std::min<size_t>(lag, output.tail_limit()));
  }
  return room;
}

void Execution::OnReadable(int channel) {
  const size_t room = Room(channel);
  if (room > 0 && !Drain(channel, room)) CloseOutput(channel);
  UpdateReading(channel);
  for (Reader* reader : readers_) {
    if (reader->follow) reader->waker->Wake();
  }
  if (command_ended_ && !output_fds_[kOut].valid() && !output_fds_[kErr].valid()) Finish();
}

bool Execution::Drain(int channel, size_t limit) {
  static char buffer[kReadBytes];  // one thread
  const ssize_t n = read(output_fds_[channel].get(), buffer, std::min(limit, sizeof(buffer)));
  if (n > 0) {
    if (!dropped_) outputs_[channel].Append({buffer, static_cast<size_t>(n)});
    return true;
  }
  // A terminal whose last user has gone reads EIO.
  return n < 0 && (errno == EAGAIN || errno == EINTR);
}

void Execution::UpdateReading(int channel) {
  if (!output_fds_[channel].valid()) return;
  const bool wanted = Room(channel) > 0;
  if (wanted == reading_[channel]) return;
  reading_[channel] = wanted;
  const int fd = output_fds_[channel].get();
  // A descriptor that hung up reports so whatever is asked for: it must leave the set.
  if (wanted) {
    // Nothing is lost when it fails: the next consumer tries again.
    reading_[channel] =
        loop_->Watch(fd, EPOLLIN, [this, channel](uint32_t) { OnReadable(channel); }).ok();
  } else {
    loop_->Unwatch(fd);
  }
}

void Execution::OnConsumed() {
  for (int channel : {kOut, kErr}) UpdateReading(channel);
}

void Execution::CloseOutput(int channel) {
  if (!output_fds_[channel].valid()) return;
  if (reading_[channel]) loop_->Unwatch(output_fds_[channel].get());
  reading_[channel] = false;
  output_fds_[channel].reset();
}

void Execution::OnSupervisorNews() {
  if (supervisor_->start_error() != 0) {
    if (start_status_.ok()) {
      start_status_ = StartError(*supervisor_, options_.command, options_.working_directory);
      if (timeout_timer_ != 0) loop_->CancelTimer(std::exchange(timeout_timer_, 0));
      for (int channel : {kOut, kErr}) CloseOutput(channel);
      CloseInput();
    }
    WakeReaders();
    return;
  }
  if (supervisor_->command_ended() && !command_ended_) OnCommandEnded();
  WakeReaders();
}

void Execution::OnSupervisorEnded() {
  OnSupervisorNews();
  // Nobody is left who could write.
  if (command_ended_ && !finished_) {
    for (int channel : {kOut, kErr}) {
      if (!output_fds_[channel].valid()) continue;
      // What a slow follower has no room for is read when it has.
      if (Room(channel) < kReadBytes) return;
      while (output_fds_[channel].valid() && Room(channel) == kReadBytes) {
        const uint64_t before = outputs_[channel].total();
        if (!Drain(channel, kReadBytes)) CloseOutput(channel);
        if (output_fds_[channel].valid() && outputs_[channel].total() == before) break;
      }
      UpdateReading(channel);
    }
    if (!output_fds_[kOut].valid() && !output_fds_[kErr].valid()) Finish();
  }
}

void Execution::OnCommandEnded() {
  command_ended_ = true;
  if (timeout_timer_ != 0) loop_->CancelTimer(std::exchange(timeout_timer_, 0));
  exited_.set_wall_us(static_cast<uint64_t>(absl::ToInt64Microseconds(age())));
  const int status = supervisor_->wait_status();
  if (WIFSIGNALED(status)) {
    exited_.set_signal(WTERMSIG(status));
    exited_.set_exit_code(128 + WTERMSIG(status));
  } else {
    exited_.set_exit_code(WEXITSTATUS(status));
  }
  exited_.set_timed_out(timed_out_);
  // A shell whose child was killed exits with 137 itself.
  if (exited_.exit_code() == 128 + SIGKILL && !timed_out_ && was_out_of_memory) {
    exited_.set_out_of_memory(was_out_of_memory());
  }
  CloseInput();
  if (!output_fds_[kOut].valid() && !output_fds_[kErr].valid()) {
    Finish();
    return;
  }
  linger_timer_ = loop_->After(kLinger, [this] { OnLingered(); });
}

void Execution::OnLingered() {
  linger_timer_ = 0;
  for (int channel : {kOut, kErr}) {
    // A slow follower keeps the rest in the pipe: it is not lost.
    if (output_fds_[channel].valid() && !reading_[channel]) {
      linger_timer_ = loop_->After(kLinger, [this] { OnLingered(); });
      return;
    }
  }
  Finish();
}

void Execution::Finish() {
  if (finished_) return;
  finished_ = true;
  if (linger_timer_ != 0) loop_->CancelTimer(std::exchange(linger_timer_, 0));
  exited_.set_out_total(outputs_[kOut].total());
  exited_.set_err_total(outputs_[kErr].total());
  WakeReaders();
  if (on_finished) on_finished();
}

void Execution::OnTimeout() {
  timeout_timer_ = 0;
  timed_out_ = true;
  KillEverything();
}

void Execution::KillEverything() {
  if (supervisor_ != nullptr) supervisor_->KillDescendants();
}

absl::Status Execution::SendSignal(int signal) {
  if (signal < 1 || signal > 64) {
    return absl::InvalidArgumentError(absl::StrCat("no such signal: ", signal));
  }
  if (command_ended_ || supervisor_ == nullptr || supervisor_->command_pid() == 0) {
    return absl::FailedPreconditionError("the command is not running");
  }
  // The command leads its own session and process group.
  if (kill(-supervisor_->command_pid(), signal) != 0 && errno != ESRCH) {
    return ErrnoError(errno, "kill");
  }
  return absl::OkStatus();
}

absl::Status Execution::Resize(uint16_t rows, uint16_t columns) {
  if (!options_.terminal || !input_.valid()) {
    return absl::FailedPreconditionError("the command has no terminal");
  }
  const winsize size{.ws_row = rows, .ws_col = columns};
  if (ioctl(input_.get(), TIOCSWINSZ, &size) != 0) return ErrnoError(errno, "resize");
  return absl::OkStatus();
}

size_t Execution::WriteInput(absl::string_view bytes) {
  if (!input_.valid()) return bytes.size();
  const ssize_t n = write(input_.get(), bytes.data(), bytes.size());
  if (n >= 0) return static_cast<size_t>(n);
  if (errno == EINTR) return 0;
  if (errno != EAGAIN) {  // nobody reads it any more
    CloseInput();
    return bytes.size();
  }
  if (!input_watched_) {
    input_watched_ = loop_
                         ->Watch(input_.get(), EPOLLOUT | EPOLLONESHOT,
                                 [this](uint32_t) {
                                   loop_->Unwatch(input_.get());
                                   input_watched_ = false;
                                   WakeReaders();
                                 })
                         .ok();
  }
  return 0;
}

void Execution::CloseInput() {
  if (!input_.valid()) return;
  if (options_.terminal && !command_ended_ && start_status_.ok() && output_fds_[kOut].valid()) {
    // A terminal has one master: its input ends by the end-of-file character, as at a keyboard.
    termios settings{};
    if (tcgetattr(input_.get(), &settings) == 0) {
      const char end_of_file = static_cast<char>(settings.c_cc[VEOF]);
      (void)!write(input_.get(), &end_of_file, 1);
    }
    return;
  }
  if (input_watched_) loop_->Unwatch(input_.get());
  input_watched_ = false;
  input_.reset();
}

void Execution::Detach(Reader* reader) {
  readers_.erase(reader);
  OnConsumed();
}

void Execution::DropOutput() {
  dropped_ = true;
  for (OutputBuffer& output : outputs_) output.Clear();
}

void Execution::WakeReaders() {
  for (Reader* reader : readers_) reader->waker->Wake();
}

}  // namespace cubby::agent
