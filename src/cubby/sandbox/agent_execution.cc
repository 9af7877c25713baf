#include "cubby/sandbox/agent_execution.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/env_policy.h"
#include "cubby/base/ids.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {
namespace {

using Link = wire::Channel;
using wire::ClientStream;
using wire::Received;

// How long after a command's own time-out its agent may take to say so.
constexpr absl::Duration kTimeoutGrace = absl::Seconds(30);
// To start a command, and to answer about one.
constexpr absl::Duration kAnswerDeadline = absl::Seconds(60);

absl::StatusOr<wire::Request> MakeRequest(const Command& command, const ExecOptions& options) {
  CUBBY_RETURN_IF_ERROR(CheckEnvironment(options.environment));
  if (command.argv.empty() && command.script.empty()) {
    return absl::InvalidArgumentError("execute: the command is empty");
  }
  if (command.script.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("execute: the script contains a NUL byte");
  }
  if (options.output_limit_bytes < 0) {
    return absl::InvalidArgumentError("execute: output_limit_bytes must not be negative");
  }
  wire::Request request;
  wire::Exec* exec = request.mutable_exec();
  exec->set_id(options.execution_id.empty() ? RandomHex(8) : options.execution_id);
  for (const std::string& word : command.argv) exec->add_argv(word);
  if (command.argv.empty()) exec->set_script(command.script);
  for (const auto& [key, value] : options.environment) {
    wire::Variable* variable = exec->add_environment();
    variable->set_key(key);
    variable->set_value(value);
  }
  std::string directory = kWorkspace;
  if (!options.working_directory.empty()) {
    CUBBY_ASSIGN_OR_RETURN(directory, NormalizePath(options.working_directory));
  }
  exec->set_working_directory(directory);
  exec->set_user(options.user);
  if (options.timeout != absl::InfiniteDuration()) {
    if (options.timeout <= absl::ZeroDuration()) {
      return absl::InvalidArgumentError("execute: the timeout must be positive");
    }
    exec->set_timeout_ms(
        static_cast<uint64_t>(std::max<int64_t>(absl::ToInt64Milliseconds(options.timeout), 1)));
  }
  exec->set_output_limit(static_cast<uint64_t>(options.output_limit_bytes));
  return request;
}

absl::Status ExplainStart(const Command& command, absl::Status status) {
  if (command.argv.empty() && absl::IsNotFound(status)) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     "the sandbox's image has no shell (`sh`) to run a script; give the program "
                     "and its arguments as a list",
                     GetErrorDetail(status));
  }
  return status;
}

void FillResult(const wire::Exited& exited, ExecResult* result) {
  result->exit_code = exited.exit_code();
  result->signal = exited.signal();
  result->timed_out = exited.timed_out();
  result->out_of_memory = exited.out_of_memory();
  result->wall_time = absl::Microseconds(static_cast<int64_t>(exited.wall_us()));
  result->out.total_bytes = static_cast<int64_t>(exited.out_total());
  result->err.total_bytes = static_cast<int64_t>(exited.err_total());
}

void Acknowledge(ClientStream* stream) {
  wire::Control control;
  control.set_acknowledge(true);
  // Lost with the connection, it costs the agent the memory of one kept result.
  stream->SendControl(control).IgnoreError();
}

// Collects the whole of a command's kept output until its end. The agent is hostile: it may not
// send more than was asked for.
absl::StatusOr<ExecResult> Collect(ClientStream* stream, int64_t limit, Deadline deadline) {
  ExecResult result;
  while (true) {
    CUBBY_ASSIGN_OR_RETURN(Received received, stream->Next(deadline));
    switch (received.kind) {
      case Received::Kind::kData: {
        OutputStream& output = received.channel == 2 ? result.err : result.out;
        if (static_cast<int64_t>(output.bytes.size() + received.bytes.size()) > limit) {
          return absl::InternalError("the agent sends more output than was asked for");
        }
        output.bytes += received.bytes;
        break;
      }
      case Received::Kind::kEvent:
        if (received.event.has_gap()) {
          OutputStream& output = received.event.gap().channel() == 2 ? result.err : result.out;
          output.truncated = true;
          output.omitted_at = static_cast<int64_t>(output.bytes.size());
        } else if (received.event.has_exited()) {
          FillResult(received.event.exited(), &result);
          Acknowledge(stream);
          return result;
        }
        break;
      case Received::Kind::kEnd:
        if (!received.status.ok()) return received.status;
        return absl::InternalError("the agent ended the command's stream without its result");
    }
  }
}

class AgentExecution : public Execution {
 public:
  AgentExecution(std::shared_ptr<AgentLink> link, std::string id, ClientStream stream,
                 Deadline deadline)
      : link_(std::move(link)),
        id_(std::move(id)),
        stream_(std::move(stream)),
        deadline_(deadline) {}

  const std::string& id() const override { return id_; }

  absl::StatusOr<ExecResult> Wait(
      const std::function<void(Channel, absl::string_view)>& sink) override {
    while (true) {
      absl::StatusOr<Received> received = stream_.Next(deadline_);
      if (!received.ok()) return link_->Explain(received.status());
      switch (received->kind) {
        case Received::Kind::kData:
          if (sink) {
            sink(received->channel == 2 ? Channel::kStderr : Channel::kStdout, received->bytes);
          }
          break;
        case Received::Kind::kEvent:
          if (received->event.has_exited()) {
            ExecResult result;
            result.execution_id = id_;
            FillResult(received->event.exited(), &result);
            Acknowledge(&stream_);
            return result;
          }
          if (received->event.has_gap()) {
            return absl::DataLossError(
                "the agent has dropped output of a command it was to follow");
          }
          break;
        case Received::Kind::kEnd:
          if (!received->status.ok()) return received->status;
          return absl::InternalError("the agent ended the command's stream without its result");
      }
    }
  }

  absl::Status WriteStdin(absl::string_view bytes) override {
    return link_->Explain(stream_.Send(bytes, deadline_));
  }
  absl::Status CloseStdin() override { return stream_.SendFin(); }

  absl::Status Signal(int signal) override {
    if (signal < 1 || signal > SIGRTMAX) {
      return absl::InvalidArgumentError(absl::StrCat("no such signal: ", signal));
    }
    wire::Control control;
    control.set_signal(signal);
    return stream_.SendControl(control);
  }
  absl::Status Kill() override {
    wire::Control control;
    control.set_kill(true);
    return stream_.SendControl(control);
  }
  absl::Status Resize(TerminalSize size) override {
    wire::Control control;
    control.mutable_resize()->set_rows(size.rows);
    control.mutable_resize()->set_columns(size.columns);
    return stream_.SendControl(control);
  }

 private:
  const std::shared_ptr<AgentLink> link_;
  const std::string id_;
  ClientStream stream_;
  const Deadline deadline_;
};

Deadline GuardFor(absl::Duration timeout) {
  return timeout == absl::InfiniteDuration() ? Deadline::Infinite()
                                             : Deadline::After(timeout + kTimeoutGrace);
}

}  // namespace

absl::StatusOr<ExecResult> RunToEnd(AgentLink* link, const Command& command,
                                    const ExecOptions& options) {
  CUBBY_ASSIGN_OR_RETURN(wire::Request request, MakeRequest(command, options));
  const std::string id = request.exec().id();
  const Deadline deadline = GuardFor(options.timeout);
  const Link::Input input = options.stdin_bytes.empty() ? Link::Input::kNone : Link::Input::kStream;
  CUBBY_ASSIGN_OR_RETURN(ClientStream stream, link->Open(std::move(request), input, deadline));
  if (!options.stdin_bytes.empty()) {
    // A command that does not read its input, or a lost connection, is told by what follows.
    if (stream.Send(options.stdin_bytes, deadline).ok()) stream.SendFin().IgnoreError();
  }
  absl::StatusOr<ExecResult> result = Collect(&stream, options.output_limit_bytes, deadline);
  // How much of an input arrived cannot be known: such a command is not taken for complete.
  if (absl::IsUnavailable(result.status()) && !IsTerminal(result.status()) &&
      options.stdin_bytes.empty()) {
    // The connection is lost, the command is not: it runs, or its result is kept.
    wire::Request again;
    again.mutable_attach()->set_id(id);
    absl::StatusOr<ClientStream> attached =
        link->Open(std::move(again), Link::Input::kNone, deadline);
    if (attached.ok()) {
      absl::StatusOr<ExecResult> resumed =
          Collect(&*attached, options.output_limit_bytes, deadline);
      // NOT_FOUND: the request never arrived. It is not sent again: the caller decides.
      if (!absl::IsNotFound(resumed.status())) result = std::move(resumed);
    }
  }
  if (!result.ok()) return ExplainStart(command, link->Explain(result.status()));
  result->execution_id = id;
  return result;
}

absl::StatusOr<std::unique_ptr<Execution>> StartExecution(std::shared_ptr<AgentLink> link,
                                                          const Command& command,
                                                          const StartOptions& options) {
  CUBBY_ASSIGN_OR_RETURN(wire::Request request, MakeRequest(command, options));
  const std::string id = request.exec().id();
  request.mutable_exec()->set_follow(true);
  if (options.terminal.has_value()) {
    request.mutable_exec()->mutable_terminal()->set_rows(options.terminal->rows);
    request.mutable_exec()->mutable_terminal()->set_columns(options.terminal->columns);
  }
  const bool has_input =
      options.keep_stdin_open || !options.stdin_bytes.empty() || options.terminal.has_value();
  const Deadline answer = Deadline::After(kAnswerDeadline);
  CUBBY_ASSIGN_OR_RETURN(ClientStream stream,
                         link->Open(std::move(request),
                                    has_input ? Link::Input::kStream : Link::Input::kNone, answer));
  absl::StatusOr<wire::Event> started = stream.NextEvent(answer);
  if (!started.ok()) return ExplainStart(command, link->Explain(started.status()));
  auto execution = std::make_unique<AgentExecution>(std::move(link), id, std::move(stream),
                                                    GuardFor(options.timeout));
  if (!options.stdin_bytes.empty()) {
    CUBBY_RETURN_IF_ERROR(execution->WriteStdin(options.stdin_bytes));
  }
  if (has_input && !options.keep_stdin_open && !options.terminal.has_value()) {
    CUBBY_RETURN_IF_ERROR(execution->CloseStdin());
  }
  return execution;
}

absl::StatusOr<std::unique_ptr<Execution>> AttachExecution(std::shared_ptr<AgentLink> link,
                                                           const std::string& id,
                                                           const OutputOffsets& from) {
  if (from.out < 0 || from.err < 0) {
    return absl::InvalidArgumentError("attach: offsets must not be negative");
  }
  wire::Request request;
  request.mutable_attach()->set_id(id);
  request.mutable_attach()->set_out_offset(static_cast<uint64_t>(from.out));
  request.mutable_attach()->set_err_offset(static_cast<uint64_t>(from.err));
  request.mutable_attach()->set_follow(true);
  const Deadline answer = Deadline::After(kAnswerDeadline);
  CUBBY_ASSIGN_OR_RETURN(ClientStream stream,
                         link->Open(std::move(request), Link::Input::kStream, answer));
  absl::StatusOr<wire::Event> started = stream.NextEvent(answer);
  if (!started.ok()) return link->Explain(started.status());
  return std::make_unique<AgentExecution>(std::move(link), id, std::move(stream),
                                          Deadline::Infinite());
}

}  // namespace cubby
