#include "cubby/cli/foreground.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "cubby/base/unique_fd.h"
#include "cubby/cli/testing/run.h"

namespace cubby::cli {
namespace {

using testing::FakeExecution;
using testing::FakeImages;
using testing::FakeProvider;
using testing::FakeSandbox;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Outcome;

class ForegroundTest : public ::testing::Test {
 protected:
  ForegroundTest() {
    signal(SIGPIPE, SIG_IGN);
    unsetenv("CUBBY_IMAGE");
    images_.images["img"] = {.reference = "img", .digest = "sha256:11"};
  }

  Outcome RunWith(const std::vector<std::string>& words, int in, int out) {
    return testing::RunWith(testing::EngineOf(provider_, images_), words, in, out);
  }
  Outcome Run(const std::vector<std::string>& words, const std::string& input = "") {
    return testing::Run(testing::EngineOf(provider_, images_), words, input);
  }

  // A sandbox with this id and body, for exec and the like.
  FakeSandbox& Add(const std::string& id, FakeExecution::Body body = nullptr) {
    provider_.sandboxes[id] = std::make_shared<FakeSandbox>(id);
    provider_.sandboxes[id]->body = std::move(body);
    return *provider_.sandboxes[id];
  }

  void NewSandboxesRun(FakeExecution::Body body) {
    provider_.on_create = [body](FakeSandbox& sandbox) { sandbox.body = body; };
  }

  FakeProvider provider_;
  FakeImages images_;
};

constexpr char kId[] = "00000000000000aa";

TEST_F(ForegroundTest, TheExitCodeTellsTimeOutSignalAndStartErrorsApart) {
  FakeSandbox& sandbox = Add(kId);
  const auto code_of = [&](ExecResult result) {
    sandbox.body = [result](FakeExecution&, const FakeExecution::Sink&) { return result; };
    return Run({"exec", kId, "--", "x"}).code;
  };
  EXPECT_EQ(code_of({.exit_code = 137, .signal = 9, .timed_out = true}), 124);
  EXPECT_EQ(code_of({.exit_code = 139, .signal = 11}), 139);
  EXPECT_EQ(code_of({.exit_code = 255}), 255);
  sandbox.start_error = ErrnoError(ENOENT, "execute", "x");
  EXPECT_EQ(Run({"exec", kId, "x"}).code, 127);
  sandbox.start_error = ErrnoError(EACCES, "execute", "x");
  EXPECT_EQ(Run({"exec", kId, "x"}).code, 126);
  sandbox.start_error = absl::FailedPreconditionError("no shell");
  EXPECT_EQ(Run({"exec", kId, "-c", "x"}).code, 125);
  sandbox.start_error = ErrnoError(ENOENT, "enter the working directory", "/w");
  EXPECT_EQ(Run({"exec", kId, "-c", "x"}).code, 125);
  EXPECT_EQ(Run({"exec", "bbbb", "x"}).code, 125) << "a missing sandbox is not a missing program";
}

TEST_F(ForegroundTest, TimeOutAndMemoryLimitAreExplained) {
  FakeSandbox& sandbox = Add(kId);
  sandbox.body = [](FakeExecution&, const FakeExecution::Sink&) {
    return ExecResult{.signal = 9, .timed_out = true, .out_of_memory = true};
  };
  const Outcome outcome = Run({"exec", "--timeout", "5", kId, "x"});
  EXPECT_THAT(outcome.err, HasSubstr("time-out of 5.0 s"));
  EXPECT_THAT(outcome.err, HasSubstr("--memory"));
  EXPECT_EQ(sandbox.started_options[0].timeout, absl::Seconds(5));
}

TEST_F(ForegroundTest, InputReachesTheCommandOnlyWithInteractive) {
  FakeSandbox& sandbox = Add(kId, [](FakeExecution& execution, const FakeExecution::Sink& sink) {
    sink(Channel::kStdout, absl::StrCat("<", execution.ReadInputToEnd(), ">"));
    return ExecResult{};
  });
  EXPECT_EQ(Run({"exec", "-i", kId, "cat"}, "typed").out, "<typed>");
  EXPECT_EQ(Run({"exec", kId, "cat"}, "typed").out, "<>");
  EXPECT_FALSE(sandbox.started_options[1].keep_stdin_open);
  const std::string large(3 << 20, 'x');
  EXPECT_EQ(Run({"exec", "-i", kId, "cat"}, large).out, "<" + large + ">");
}

TEST_F(ForegroundTest, ACommandThatEndsDoesNotWaitForInput) {
  Add(kId);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const unique_fd reader(ends[0]);
  const unique_fd writer(ends[1]);  // stays open: no end of file
  const unique_fd out(memfd_create("out", MFD_CLOEXEC));
  EXPECT_EQ(RunWith({"exec", "-i", kId, "true"}, reader.get(), out.get()).code, 0);
}

TEST_F(ForegroundTest, TheFirstSignalIsForwardedTheSecondKills) {
  NewSandboxesRun([](FakeExecution& execution, const FakeExecution::Sink&) {
    kill(getpid(), SIGTERM);
    EXPECT_EQ(execution.AwaitSignal(), SIGTERM);
    kill(getpid(), SIGINT);
    EXPECT_EQ(execution.AwaitSignal(), SIGKILL);
    return ExecResult{.exit_code = 137, .signal = SIGKILL};
  });
  EXPECT_EQ(Run({"run", "img", "x"}).code, 137);
  EXPECT_EQ(provider_.removed.size(), 1U);
}

TEST_F(ForegroundTest, ASignalWhileTheSandboxIsMadeRemovesItAgain) {
  provider_.on_create = [](FakeSandbox& sandbox) {
    kill(getpid(), SIGTERM);
    // Seen before the command starts, or forwarded to it.
    sandbox.body = [](FakeExecution& execution, const FakeExecution::Sink&) {
      return ExecResult{.signal = execution.AwaitSignal()};
    };
  };
  EXPECT_EQ(Run({"run", "img", "x"}).code, 128 + SIGTERM);
  EXPECT_THAT(provider_.sandboxes, IsEmpty());
}

TEST_F(ForegroundTest, ABrokenConnectionFailsAndRemovesTheSandbox) {
  NewSandboxesRun([](FakeExecution&, const FakeExecution::Sink&) {
    return MakeError(absl::StatusCode::kUnavailable, "the sandbox died", {.fate = Fate::kTerminal});
  });
  const Outcome outcome = Run({"run", "img", "x"});
  EXPECT_EQ(outcome.code, kOwnFailure);
  EXPECT_THAT(outcome.err, HasSubstr("the sandbox died"));
  EXPECT_EQ(provider_.removed.size(), 1U);
}

TEST_F(ForegroundTest, AReaderThatGoesAwayEndsTheCommand) {
  Add(kId, [](FakeExecution& execution, const FakeExecution::Sink& sink) {
    sink(Channel::kStdout, "x");
    sink(Channel::kStdout, "y");
    EXPECT_EQ(execution.AwaitSignal(), SIGKILL);
    return ExecResult{.exit_code = 137, .signal = SIGKILL};
  });
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  const unique_fd writer(ends[1]);
  const unique_fd in(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Outcome outcome = RunWith({"exec", kId, "yes"}, in.get(), writer.get());
  EXPECT_EQ(outcome.code, 128 + SIGPIPE);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(ForegroundTest, AFullDiskUnderTheOutputIsAnError) {
  Add(kId, [](FakeExecution& execution, const FakeExecution::Sink& sink) {
    sink(Channel::kStdout, "x");
    execution.AwaitSignal();
    return ExecResult{};
  });
  const unique_fd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  const unique_fd in(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Outcome outcome = RunWith({"exec", kId, "yes"}, in.get(), full.get());
  EXPECT_EQ(outcome.code, kOwnFailure);
  EXPECT_THAT(outcome.err, HasSubstr("No space left"));
}

TEST_F(ForegroundTest, ATerminalIsRawWhileTheCommandRunsAndRestoredAfter) {
  int master = -1;
  int slave = -1;
  winsize size = {.ws_row = 33, .ws_col = 77};
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, &size), 0);
  const unique_fd master_fd(master);
  const unique_fd slave_fd(slave);
  termios before = {};
  tcgetattr(slave, &before);
  ASSERT_NE(before.c_lflag & ICANON, 0U);
  FakeSandbox& sandbox = Add(kId, [&](FakeExecution& execution, const FakeExecution::Sink&) {
    termios during = {};
    tcgetattr(slave, &during);
    EXPECT_EQ(during.c_lflag & (ICANON | ECHO | ISIG), 0U);
    winsize larger = {.ws_row = 50, .ws_col = 100};
    ioctl(master, TIOCSWINSZ, &larger);
    kill(getpid(), SIGWINCH);
    EXPECT_EQ(execution.AwaitSignal(), SIGWINCH);
    return absl::UnavailableError("broken");
  });
  const unique_fd out(memfd_create("out", MFD_CLOEXEC));
  EXPECT_EQ(RunWith({"exec", "-it", kId, "sh"}, slave, out.get()).code, kOwnFailure);
  termios after = {};
  tcgetattr(slave, &after);
  EXPECT_EQ(after.c_lflag, before.c_lflag);
  EXPECT_EQ(after.c_iflag, before.c_iflag);
  ASSERT_TRUE(sandbox.started_options[0].terminal.has_value());
  EXPECT_EQ(sandbox.started_options[0].terminal->rows, 33);
  EXPECT_EQ(sandbox.started_options[0].terminal->columns, 77);
}

}  // namespace
}  // namespace cubby::cli
