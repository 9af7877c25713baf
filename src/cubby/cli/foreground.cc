#include "cubby/cli/foreground.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/env_policy.h"
#include "cubby/base/status_macros.h"
#include "cubby/base/unique_fd.h"
#include "cubby/cli/output.h"
#include "cubby/cli/output_collector.h"
#include "cubby/cli/terminal.h"
#include "cubby/cli/units.h"

namespace cubby::cli {
namespace {

constexpr size_t kPieceBytes = 64 << 10;

// Feeds standard input to the command on a thread of its own: both reading and writing block.
class InputPump {
 public:
  InputPump(const Context& context, Execution& execution)
      : context_(context), execution_(execution), wake_(eventfd(0, EFD_CLOEXEC)) {
    thread_ = std::thread([this] { Run(); });
  }
  InputPump(const InputPump&) = delete;
  InputPump& operator=(const InputPump&) = delete;
  // The command has ended, so a write that waits for it to read fails and the thread gets here.
  ~InputPump() {
    eventfd_write(wake_.get(), 1);
    thread_.join();
  }

 private:
  void Run() {
    std::string piece(kPieceBytes, '\0');
    while (true) {
      pollfd waits[] = {{.fd = context_.in(), .events = POLLIN},
                        {.fd = wake_.get(), .events = POLLIN}};
      if (poll(waits, 2, -1) < 0 && errno != EINTR) break;
      if (waits[1].revents != 0) return;
      if (waits[0].revents == 0) continue;
      const ssize_t got = ::read(context_.in(), piece.data(), piece.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) break;
      const absl::Status written =
          execution_.WriteStdin(absl::string_view(piece.data(), static_cast<size_t>(got)));
      if (!written.ok()) {
        // As when a pipe's reader has gone: the command decides what that means.
        context_.SayVerbosely(absl::StrCat("standard input ends here: ", written.message()));
        return;
      }
    }
    if (absl::Status closed = execution_.CloseStdin(); !closed.ok()) {
      context_.SayVerbosely(absl::StrCat("close standard input: ", closed.message()));
    }
  }

  const Context& context_;
  Execution& execution_;
  unique_fd wake_;
  std::thread thread_;
};

// Hands signals to the command for as long as it lives.
class ForwardedSignals {
 public:
  ForwardedSignals(const Context& context, SignalRelay& relay, Execution& execution)
      : relay_(relay) {
    relay_.SetHandler([&context, &execution](int signal, int ordinal) {
      absl::Status status;
      if (signal == SIGWINCH) {
        const std::optional<TerminalSize> size = SizeOfTerminal(context.in());
        if (size.has_value()) status = execution.Resize(*size);
      } else if (ordinal == 1) {
        status = execution.Signal(signal);
      } else {
        status = execution.Kill();
      }
      // The command may have ended at the same moment.
      if (!status.ok()) {
        context.SayVerbosely(absl::StrCat("forward signal ", signal, ": ", status.message()));
      }
    });
  }
  ForwardedSignals(const ForwardedSignals&) = delete;
  ForwardedSignals& operator=(const ForwardedSignals&) = delete;
  ~ForwardedSignals() { relay_.ClearHandler(); }

 private:
  SignalRelay& relay_;
};

}  // namespace

std::vector<Option> CommandOptionDeclarations(CommandOptions* options) {
  return {
      Text("-c,--script", "SCRIPT", &options->script,
           "run this script with the image's shell (sh -lc) instead of a program"),
      Texts("-e,--env", "KEY=VALUE", &options->environment,
            "set a variable for the command; KEY alone takes the value from here"),
      Text("-w,--workdir", "PATH", &options->working_directory,
           "the folder to start in; the workspace if not given"),
      Text("-u,--user", "USER", &options->user, "name, uid or uid:gid; the image's if not given"),
      Span("--timeout", &options->timeout,
           "kill everything that the command started after this time, and exit with 124"),
      Flag("-i,--interactive", &options->interactive,
           "pass standard input to the command; it is empty otherwise"),
      Flag("-t,--tty", &options->terminal, "give the command a terminal"),
      Size("--output-limit", &options->output_limit,
           "with --json, keep at most this of each stream: its beginning and its end"),
  };
}

absl::StatusOr<Command> CommandToRun(const CommandOptions& options,
                                     const std::vector<std::string>& words) {
  if (!options.script.empty() && !words.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are both a --script and a command (", words[0], "); give one of them"));
  }
  if (!options.script.empty()) return Command::Shell(options.script);
  if (words.empty()) {
    return absl::InvalidArgumentError(
        "there is no command to run; put it at the end, after --, or give a --script");
  }
  if (words[0].empty()) return absl::InvalidArgumentError("the name of the program is empty");
  return Command::Argv(words);
}

absl::StatusOr<StartOptions> StartOptionsOf(const Context& context, const CommandOptions& options) {
  StartOptions start;
  for (const std::string& entry : options.environment) {
    // KEY alone keeps a secret off the command line.
    std::string whole = entry;
    if (entry.find('=') == std::string::npos) {
      const char* const value = getenv(entry.c_str());
      if (value == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("--env ", entry, ": there is no such variable here; write KEY=VALUE"));
      }
      absl::StrAppend(&whole, "=", value);
    }
    CUBBY_RETURN_IF_ERROR(ParseEnvironmentEntry(whole, &start.environment));
  }
  if (options.timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("--timeout must be above 0");
  }
  start.working_directory = options.working_directory;
  start.user = options.user;
  start.timeout = options.timeout;
  start.output_limit_bytes = options.output_limit;
  start.keep_stdin_open = options.interactive;
  if (options.terminal) {
    std::optional<TerminalSize> size = SizeOfTerminal(context.in());
    if (!size.has_value()) size = SizeOfTerminal(context.out());
    start.terminal = size.value_or(TerminalSize{});
    if (const char* const term = getenv("TERM"); term != nullptr) {
      start.environment.try_emplace("TERM", term);
    }
  }
  return start;
}

ForegroundOptions ForegroundOptionsOf(const Context& context, const CommandOptions& options) {
  using Foreground = ForegroundOptions;
  return {
      .input = options.interactive ? Foreground::Input::kStreamed : Foreground::Input::kNone,
      .terminal = options.terminal && options.interactive ? Foreground::Terminal::kRaw
                                                          : Foreground::Terminal::kNone,
      .output = context.global.json ? Foreground::Output::kCollected : Foreground::Output::kPrinted,
      .output_limit = options.output_limit};
}

absl::StatusOr<ExecResult> WaitInForeground(const Context& context, SignalRelay& relay,
                                            Execution& execution,
                                            const ForegroundOptions& options) {
  std::optional<RawMode> raw;
  if (options.terminal == ForegroundOptions::Terminal::kRaw) raw.emplace(context.in());
  std::optional<InputPump> pump;
  if (options.input == ForegroundOptions::Input::kStreamed) pump.emplace(context, execution);
  OutputCollector out(options.output_limit);
  OutputCollector err(options.output_limit);
  absl::Status printed;
  std::thread killer;
  const auto sink = [&](Channel channel, absl::string_view bytes) {
    if (options.output == ForegroundOptions::Output::kCollected) {
      (channel == Channel::kStdout ? out : err).Add(bytes);
      return;
    }
    if (!printed.ok()) return;
    printed = WriteFully(channel == Channel::kStdout ? context.out() : context.err(), bytes);
    if (!printed.ok()) {
      // Not here: the answer to Kill comes through the connection whose bytes we are taking.
      killer = std::thread([&context, &execution] {
        if (absl::Status killed = execution.Kill(); !killed.ok()) {
          context.SayVerbosely(absl::StrCat("stop the command: ", killed.message()));
        }
      });
    }
  };
  absl::StatusOr<ExecResult> result = [&] {
    const ForwardedSignals forwarded(context, relay, execution);
    return execution.Wait(sink);
  }();
  if (killer.joinable()) killer.join();
  pump.reset();
  raw.reset();
  if (!printed.ok()) {
    if (GetErrorDetail(printed).error_number != EPIPE) return printed;
    if (result.ok()) {
      result->signal = SIGPIPE;
      result->exit_code = 128 + SIGPIPE;
    }
  }
  if (result.ok() && options.output == ForegroundOptions::Output::kCollected) {
    result->out = out.Take();
    result->err = err.Take();
  }
  return result;
}

int ExitCodeOf(const ExecResult& result) {
  if (result.timed_out) return kTimedOut;
  if (result.signal != 0) return 128 + result.signal;
  return result.exit_code;
}

int ExitCodeOfStartError(const Command& command, const absl::Status& status) {
  const ErrorDetail detail = GetErrorDetail(status);
  // The agent's error is about a path: the program, or for example the working directory.
  const std::string program = command.argv.empty() ? "sh" : command.argv[0];
  if (detail.path != program || detail.error_number == 0) return kOwnFailure;
  return detail.error_number == ENOENT || detail.error_number == ENOTDIR ? kNotFound
                                                                         : kNotExecutable;
}

void Explain(const Context& context, const ExecResult& result, absl::Duration timeout) {
  if (context.global.json) return;
  if (result.timed_out) {
    context.Say(absl::StrCat("the command was killed after its time-out of ", FormatSpan(timeout),
                             "; --timeout gives it more"));
  }
  if (result.out_of_memory) {
    context.Say(
        "the sandbox reached its memory limit and the kernel killed something in it; "
        "a sandbox made with a larger --memory has more");
  }
}

}  // namespace cubby::cli
