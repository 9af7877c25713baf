// The contract over a real agent that runs on the host. What needs a machine of its own (users,
// limits, an image without a shell) is tested with containers.
#include "cubby/sandbox/agent_sandbox.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "cubby/sandbox/testing/host_sandbox.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using AgentSandboxTest = HostSandboxTest;

TEST_F(AgentSandboxTest, ExecuteReturnsBothStreamsAndTheExitCode) {
  const ExecResult result = Run("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.out.bytes, "out\n");
  EXPECT_EQ(result.err.bytes, "err\n");
  EXPECT_EQ(result.out.total_bytes, 4);
  EXPECT_FALSE(result.out.truncated);
}

TEST_F(AgentSandboxTest, SignalThatEndsACommandIsReported) {
  const ExecResult result = Run("kill -TERM $$");
  EXPECT_EQ(result.signal, SIGTERM);
  EXPECT_EQ(result.exit_code, 128 + SIGTERM);
}

TEST_F(AgentSandboxTest, ArgumentsAreNotTouchedByAShell) {
  absl::StatusOr<ExecResult> result =
      sandbox_.Execute(Command::Argv({"printf", "%s|", "a b", "$HOME", "*", "\n", "\xff"}),
                       {.working_directory = folder_});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->out.bytes, "a b|$HOME|*|\n|\xff|");
}

TEST_F(AgentSandboxTest, MissingProgramIsNotFoundAndItsIdStaysFree) {
  const ExecOptions options{.working_directory = folder_, .execution_id = "once"};
  EXPECT_EQ(sandbox_.Execute(Command::Argv({"no-such-program"}), options).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(sandbox_.Execute(Command::Argv({"true"}), options).ok());
}

TEST_F(AgentSandboxTest, MissingWorkingDirectoryIsNotFound) {
  const absl::Status status =
      sandbox_.Execute(Command::Argv({"true"}), {.working_directory = Path("missing")}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("working directory"));
}

// C-11
TEST_F(AgentSandboxTest, EnvironmentIsForOneCommand) {
  EXPECT_EQ(Run("printf %s \"$SECRET\"", {.environment = {{"SECRET", "a b\n=c"}}}).out.bytes,
            "a b\n=c");
  EXPECT_EQ(Run("printf %s \"$SECRET\"").out.bytes, "");
  EXPECT_EQ(
      sandbox_.Execute(Command::Shell("true"), {.environment = {{"A=B", "x"}}}).status().code(),
      absl::StatusCode::kInvalidArgument);
}

// C-19
TEST_F(AgentSandboxTest, InputIsEmptyUnlessGiven) {
  EXPECT_EQ(Run("cat").out.bytes, "");
  EXPECT_EQ(Run("cat", {.stdin_bytes = "hello"}).out.bytes, "hello");
}

TEST_F(AgentSandboxTest, InputThatNobodyReadsDoesNotHoldTheCall) {
  const std::string big(8 << 20, 'x');
  EXPECT_EQ(Run("exit 4", {.stdin_bytes = big}).exit_code, 4);
  EXPECT_TRUE(
      Run("sleep 1000", {.stdin_bytes = big, .timeout = absl::Milliseconds(300)}).timed_out);
}

TEST_F(AgentSandboxTest, LargeInputAndOutputPassThrough) {
  std::string big(5 << 20, '\0');
  for (size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 2654435761U >> 13);
  const ExecResult result = Run("cat", {.stdin_bytes = big});
  EXPECT_EQ(result.out.total_bytes, static_cast<int64_t>(big.size()));
  EXPECT_TRUE(result.out.bytes == big);
}

TEST_F(AgentSandboxTest, OutputIsBoundedAtTheSourceWithExactTotals) {
  const ExecResult result =
      Run("head -c 1000000000 /dev/zero >&2; printf tail >&2", {.output_limit_bytes = 1000});
  EXPECT_EQ(result.err.total_bytes, 1000000004);
  EXPECT_TRUE(result.err.truncated);
  EXPECT_EQ(result.err.bytes.size(), 1000u);
  EXPECT_EQ(result.err.omitted_at, 500);
  EXPECT_THAT(result.err.bytes, testing::EndsWith("tail"));
  EXPECT_FALSE(result.out.truncated);
}

TEST_F(AgentSandboxTest, ExactlyFullOutputIsNotTruncated) {
  const ExecResult result = Run("printf 1234567890", {.output_limit_bytes = 10});
  EXPECT_EQ(result.out.bytes, "1234567890");
  EXPECT_FALSE(result.out.truncated);
}

// C-17, C-19, D-48, D-56
TEST_F(AgentSandboxTest, TimeoutKillsGrandchildrenThatCalledSetsid) {
  const ExecResult result = Run(
      "echo begun; (setsid sh -c 'setsid sleep 4242 & sleep 4243' &) ; trap '' TERM; sleep 4244",
      {.timeout = absl::Milliseconds(500)});
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_EQ(result.out.bytes, "begun\n") << "partial output comes back";
  EXPECT_EQ(Run("ps ax -o args= | grep -c '^sleep 424'").out.bytes, "0\n");
}

TEST_F(AgentSandboxTest, TimeoutKillsACommandThatClosedItsPipes) {
  const ExecResult result =
      Run("exec >&- 2>&- <&-; sleep 4245 & sleep 4246", {.timeout = absl::Milliseconds(300)});
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(Run("ps ax -o args= | grep -c '^sleep 424'").out.bytes, "0\n");
}

// C-19
TEST_F(AgentSandboxTest, BackgroundChildThatHoldsThePipesDoesNotHoldTheCall) {
  const absl::Time before = absl::Now();
  const ExecResult result = Run("sleep 4247 & echo started");
  EXPECT_EQ(result.out.bytes, "started\n");
  EXPECT_LT(absl::Now() - before, absl::Seconds(5));
  EXPECT_EQ(Run("ps ax -o args= | grep -c '^sleep 4247'").out.bytes, "1\n") << "it lives on";
}

TEST_F(AgentSandboxTest, BackgroundChildMayGoOnWritingAfterTheCall) {
  Run("(for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; echo $i; done; touch done) &");
  for (int i = 0; i < 100 && !FileExists(Path("done")); ++i) Run("sleep 0.05");
  EXPECT_TRUE(FileExists(Path("done"))) << "it did not die of SIGPIPE";
}

TEST_F(AgentSandboxTest, SameExecutionIdIsNeverRunTwice) {
  const ExecOptions options{.working_directory = folder_, .execution_id = "job-1"};
  ASSERT_TRUE(sandbox_.Execute(Command::Shell("echo x >> ran"), options).ok());
  EXPECT_EQ(sandbox_.Execute(Command::Shell("echo x >> ran"), options).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(*ReadSmallFile(Path("ran")), "x\n");
}

// More results than are kept for callers that went away: none of those that are awaited is dropped.
TEST_F(AgentSandboxTest, ResultsThatEndTogetherAllReachTheirCallers) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 150; ++i) {
    threads.emplace_back([this] {
      absl::StatusOr<ExecResult> result =
          sandbox_.Execute(Command::Shell("while [ ! -e go ]; do sleep 0.02; done; echo result"),
                           {.working_directory = folder_});
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->out.bytes, "result\n");
      EXPECT_FALSE(result->out.truncated);
    });
  }
  while (sandbox_.ListExecutions()->size() < 150) Run("sleep 0.05");
  ASSERT_TRUE(sandbox_.WriteFile(Path("go"), "").ok());
  for (std::thread& thread : threads) thread.join();
}

TEST_F(AgentSandboxTest, HundredCommandsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 100; ++i) {
    threads.emplace_back([this, i, &right] {
      const std::string text = std::to_string(i);
      absl::StatusOr<ExecResult> result =
          sandbox_.Execute(Command::Shell("read x; echo $x-$x"),
                           {.working_directory = folder_, .stdin_bytes = text + "\n"});
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->out.bytes, text + "-" + text + "\n")
          << "exit " << result->exit_code << ", total " << result->out.total_bytes << ", "
          << result->err.bytes;
      if (result->out.bytes == text + "-" + text + "\n") ++right;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right.load(), 100);
}

TEST_F(AgentSandboxTest, OutputStreamsAsItComesAndInputIsTakenMeanwhile) {
  StartOptions options;
  options.working_directory = folder_;
  options.keep_stdin_open = true;
  absl::StatusOr<std::unique_ptr<Execution>> execution =
      sandbox_.Start(Command::Shell("while read x; do echo got $x; done; echo end >&2"), options);
  ASSERT_TRUE(execution.ok()) << execution.status();
  ASSERT_TRUE((*execution)->WriteStdin("one\n").ok());
  std::string out, err;
  int lines = 0;
  absl::StatusOr<ExecResult> result =
      (*execution)->Wait([&](Channel channel, absl::string_view bytes) {
        (channel == Channel::kStdout ? out : err).append(bytes.data(), bytes.size());
        // The next line is sent only when the answer to the last has come.
        if (channel == Channel::kStdout && ++lines == 1) {
          EXPECT_TRUE((*execution)->WriteStdin("two\n").ok());
          EXPECT_TRUE((*execution)->CloseStdin().ok());
        }
      });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(out, "got one\ngot two\n");
  EXPECT_EQ(err, "end\n");
}

TEST_F(AgentSandboxTest, SlowReaderLosesNothing) {
  StartOptions options;
  options.working_directory = folder_;
  absl::StatusOr<std::unique_ptr<Execution>> execution =
      sandbox_.Start(Command::Shell("seq 1 1000000"), options);
  ASSERT_TRUE(execution.ok());
  // While this command is held back, others go on.
  EXPECT_EQ(Run("echo free").out.bytes, "free\n");
  int64_t bytes = 0;
  absl::StatusOr<ExecResult> result = (*execution)->Wait([&](Channel, absl::string_view piece) {
    bytes += static_cast<int64_t>(piece.size());
  });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(bytes, 6888896);
  EXPECT_EQ(result->out.total_bytes, 6888896);
}

TEST_F(AgentSandboxTest, LostConnectionIsResumedFromTheByteReached) {
  AgentSandbox reconnected("0123456789abcdef", [this] { return agent_->Connect(); });
  Sandbox& other = reconnected;
  StartOptions options;
  options.working_directory = folder_;
  options.execution_id = "long";
  {
    AgentSandbox first("0123456789abcdef", [this] { return agent_->Connect(); });
    ASSERT_TRUE(first
                    .Start(Command::Shell("echo run >> runs; echo one; while [ ! -e go ]; do "
                                          "sleep 0.02; done; echo two"),
                           options)
                    .ok());
  }  // the connection is gone, the command is not
  while (other.ListExecutions()->at(0).total.out < 4) Run("sleep 0.01");
  absl::StatusOr<std::unique_ptr<Execution>> again = other.Attach("long", {.out = 2});
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_TRUE(other.WriteFile(Path("go"), "").ok());
  std::string out;
  absl::StatusOr<ExecResult> result = (*again)->Wait(
      [&](Channel, absl::string_view piece) { out.append(piece.data(), piece.size()); });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(out, "e\ntwo\n");
  EXPECT_EQ(*ReadSmallFile(Path("runs")), "run\n");
}

TEST_F(AgentSandboxTest, AttachToWhatIsNotKeptSaysSo) {
  EXPECT_EQ(sandbox_.Attach("never").status().code(), absl::StatusCode::kNotFound);
  StartOptions options;
  options.working_directory = folder_;
  options.execution_id = "big";
  ASSERT_TRUE(
      sandbox_.Start(Command::Shell("head -c 3000000 /dev/zero; sleep 1000"), options).ok());
  for (int i = 0; i < 200; ++i) {
    if (sandbox_.ListExecutions()->at(0).total.out == 3000000) break;
    Run("sleep 0.02");
  }
  EXPECT_EQ(sandbox_.Attach("big", {.out = 0}).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(sandbox_.Attach("big", {.out = 2999999}).ok());
}

TEST_F(AgentSandboxTest, ExecutionsAreListedFromNoneToThousands) {
  absl::StatusOr<std::vector<ExecutionInfo>> none = sandbox_.ListExecutions();
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE(none->empty());
  StartOptions options;
  options.working_directory = folder_;
  const std::string script = "sleep 1000 # " + std::string(190, 'x');
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(sandbox_.Start(Command::Shell(script), options).ok());
  }
  absl::StatusOr<std::vector<ExecutionInfo>> many = sandbox_.ListExecutions();
  ASSERT_TRUE(many.ok()) << many.status();
  EXPECT_EQ(many->size(), 1000u);
}

TEST_F(AgentSandboxTest, ClientThatOnlyLooksLeavesTheInputOpen) {
  StartOptions options;
  options.working_directory = folder_;
  options.execution_id = "reads";
  options.keep_stdin_open = true;
  absl::StatusOr<std::unique_ptr<Execution>> execution =
      sandbox_.Start(Command::Shell("read x; echo got $x"), options);
  ASSERT_TRUE(execution.ok()) << execution.status();
  absl::StatusOr<std::unique_ptr<wire::Channel>> channel =
      wire::Channel::Connect(*agent_->Connect(), Deadline::After(absl::Seconds(10)));
  ASSERT_TRUE(channel.ok());
  wire::Request look;
  look.mutable_attach()->set_id("reads");
  look.mutable_attach()->set_follow(true);
  absl::StatusOr<wire::ClientStream> looker = (*channel)->Open(look, wire::Channel::Input::kNone);
  ASSERT_TRUE(looker.ok());
  ASSERT_TRUE(looker->NextEvent(Deadline::After(absl::Seconds(10))).ok()) << "it is attached";
  ASSERT_TRUE((*execution)->WriteStdin("a line\n").ok());
  std::string out;
  ASSERT_TRUE(
      (*execution)
          ->Wait([&](Channel, absl::string_view piece) { out.append(piece.data(), piece.size()); })
          .ok());
  EXPECT_EQ(out, "got a line\n");
}

TEST_F(AgentSandboxTest, ClientThatNeverReadsCannotFillTheAgentsMemory) {
  const int64_t before = sandbox_.Stats()->agent_memory_bytes;
  const unique_fd client = *agent_->Connect();
  wire::Hello hello;
  hello.set_version(1);
  const std::string payload = hello.SerializeAsString();
  char header[wire::kHeaderBytes];
  wire::EncodeHeader(
      {.length = static_cast<uint32_t>(payload.size()), .kind = wire::FrameKind::kHello}, header);
  std::string bytes = std::string(header, sizeof(header)) + payload;
  wire::EncodeHeader({.length = 8, .kind = wire::FrameKind::kPing}, header);
  const std::string ping = std::string(header, sizeof(header)) + "nonce123";
  for (int i = 0; i < 100000; ++i) bytes += ping;
  // Until the agent takes no more, or has taken 64 MiB.
  int64_t sent = 0;
  for (size_t at = 0; sent < 64 << 20;) {
    const ssize_t n =
        send(client.get(), bytes.data() + at, bytes.size() - at, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n <= 0) {
      pollfd poller{.fd = client.get(), .events = POLLOUT};
      if (poll(&poller, 1, 500) == 0) break;
      continue;
    }
    sent += n;
    at += static_cast<size_t>(n);
    if (at == bytes.size()) at = bytes.size() - 100000 * ping.size();
  }
  EXPECT_LT(sandbox_.Stats()->agent_memory_bytes, before + (8 << 20)) << "after " << sent;
}

TEST_F(AgentSandboxTest, TerminalHasItsSizeAndResizes) {
  StartOptions options;
  options.working_directory = folder_;
  options.terminal = TerminalSize{.rows = 33, .columns = 101};
  absl::StatusOr<std::unique_ptr<Execution>> execution = sandbox_.Start(
      Command::Shell("test -t 0 && test -t 1 && stty size; read x; stty size; cat"), options);
  ASSERT_TRUE(execution.ok()) << execution.status();
  std::string out;
  bool resized = false;
  absl::StatusOr<ExecResult> result = (*execution)->Wait([&](Channel, absl::string_view piece) {
    out.append(piece.data(), piece.size());
    if (!resized && out.find("33 101") != std::string::npos) {
      resized = true;
      EXPECT_TRUE((*execution)->Resize({.rows = 44, .columns = 55}).ok());
      EXPECT_TRUE((*execution)->WriteStdin("x\n").ok());
    }
    if (out.find("44 55") != std::string::npos) {
      EXPECT_TRUE((*execution)->CloseStdin().ok());
    }
  });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(out, HasSubstr("44 55"));
  EXPECT_EQ(result->exit_code, 0);
}

TEST_F(AgentSandboxTest, SignalsReachTheCommand) {
  StartOptions options;
  options.working_directory = folder_;
  absl::StatusOr<std::unique_ptr<Execution>> execution = sandbox_.Start(
      Command::Shell("trap 'echo caught; exit 7' USR1; echo ready; while :; do sleep 0.02; done"),
      options);
  ASSERT_TRUE(execution.ok());
  absl::StatusOr<ExecResult> result = (*execution)->Wait([&](Channel, absl::string_view piece) {
    if (piece != "ready\n") return;
    EXPECT_TRUE((*execution)->Signal(SIGUSR1).ok());
  });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 7);
}

TEST_F(AgentSandboxTest, FilesComeBackByteForByte) {
  std::string bytes;
  for (int i = 0; i < 1 << 20; ++i) bytes += static_cast<char>(i * 31 + (i >> 8));
  ASSERT_TRUE(sandbox_.WriteFile(Path("new/deep/f"), bytes).ok());
  absl::StatusOr<FileContent> content = sandbox_.ReadFile(Path("new/deep/f"));
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_TRUE(content->bytes == bytes);
  EXPECT_TRUE(content->end_of_file);
  ASSERT_TRUE(sandbox_.WriteFile(Path("new/deep/f"), "").ok());
  EXPECT_EQ(sandbox_.ReadFile(Path("new/deep/f"))->bytes, "");
}

TEST_F(AgentSandboxTest, OddNamesSurvive) {
  for (const std::string& name :
       {std::string("a\nb"), std::string("-rf"), std::string(" x "), std::string("c:d"),
        std::string("\xff\xfe"), std::string(255, 'n'), std::string("*")}) {
    ASSERT_TRUE(sandbox_.WriteFile(Path(name), name).ok()) << name;
    EXPECT_EQ(sandbox_.ReadFile(Path(name))->bytes, name);
    EXPECT_EQ(sandbox_.Stat(Path(name))->path, Path(name));
  }
  EXPECT_EQ(sandbox_.ListDir(folder_, {.max_depth = 1})->entries.size(), 8u) << "and the socket";
}

// C-30, C-31, D-32, D-35, D-36
TEST_F(AgentSandboxTest, LineRangesAreInclusiveAndCounted) {
  ASSERT_TRUE(sandbox_.WriteFile(Path("f"), "one\r\ntwo\n\nfour").ok());
  const auto read = [this](std::optional<int64_t> start, std::optional<int64_t> end) {
    return *sandbox_.ReadFile(Path("f"), {.start_line = start, .end_line = end});
  };
  EXPECT_EQ(read(1, 1).bytes, "one\r\n");
  EXPECT_EQ(read(2, 3).bytes, "two\n\n");
  EXPECT_EQ(read(2, 3).lines, 2);
  EXPECT_FALSE(read(2, 3).end_of_file);
  EXPECT_EQ(read(3, 3).bytes, "\n");
  EXPECT_EQ(read(3, 3).lines, 1) << "an empty line is not past the end";
  EXPECT_EQ(read(4, 99).bytes, "four");
  EXPECT_EQ(read(4, 99).lines, 1);
  EXPECT_TRUE(read(4, 99).end_of_file);
  EXPECT_EQ(read(9, std::nullopt).bytes, "");
  EXPECT_EQ(read(9, std::nullopt).lines, 0);
  EXPECT_EQ(read(std::nullopt, 2).bytes, "one\r\ntwo\n");
  EXPECT_EQ(sandbox_.ReadFile(Path("f"), {.start_line = 0}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sandbox_.ReadFile(Path("f"), {.start_line = 3, .end_line = 2}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(AgentSandboxTest, ByteRanges) {
  ASSERT_TRUE(sandbox_.WriteFile(Path("f"), "0123456789").ok());
  EXPECT_EQ(sandbox_.ReadFile(Path("f"), {.offset_bytes = 3, .length_bytes = 4})->bytes, "3456");
  EXPECT_EQ(sandbox_.ReadFile(Path("f"), {.offset_bytes = 8, .length_bytes = 4})->bytes, "89");
  EXPECT_TRUE(sandbox_.ReadFile(Path("f"), {.offset_bytes = 8, .length_bytes = 2})->end_of_file);
  EXPECT_EQ(sandbox_.ReadFile(Path("f"), {.offset_bytes = 99})->bytes, "");
  EXPECT_EQ(sandbox_.ReadFile(Path("f"), {.length_bytes = 0})->bytes, "");
}

TEST_F(AgentSandboxTest, ReadingErrorsAreTyped) {
  EXPECT_EQ(sandbox_.ReadFile(Path("missing")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(sandbox_.ReadFile(folder_).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(sandbox_.ReadFile("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sandbox_.ReadFile("/a/../b").status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(GetErrorDetail(sandbox_.ReadFile(Path("missing")).status()).path, Path("missing"));
  Run("mkfifo fifo");
  EXPECT_EQ(sandbox_.ReadFile(Path("fifo")).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(sandbox_.WriteFile(Path("fifo"), "x").code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(AgentSandboxTest, TextMustBeUtf8UnlessLossyIsAskedFor) {
  ASSERT_TRUE(sandbox_.WriteFile(Path("f"), "caf\xc3\xa9 \xff!").ok());
  EXPECT_EQ(sandbox_.ReadText(Path("f")).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sandbox_.ReadText(Path("f"), {}, Decoding::kLossy)->bytes, "caf\xc3\xa9 \xef\xbf\xbd!");
}

// D-38
TEST_F(AgentSandboxTest, ReplacingKeepsModeAndOwnerAndIsAtomic) {
  Run("printf old > f; chown 12:34 f; chmod 4751 f; ln f hard");
  ASSERT_TRUE(sandbox_.WriteFile(Path("f"), "new", {.mode = 0600}).ok());
  struct stat st {};
  ASSERT_EQ(stat(Path("f").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 04751u);
  EXPECT_EQ(st.st_uid, 12u);
  EXPECT_EQ(st.st_gid, 34u);
  EXPECT_EQ(*ReadSmallFile(Path("hard")), "old") << "the old file was not written into";
}

TEST_F(AgentSandboxTest, FailingSourceLeavesTheFileAsItWas) {
  ASSERT_TRUE(sandbox_.WriteFile(Path("f"), "old").ok());
  int pieces = 0;
  const absl::Status status =
      sandbox_.WriteFileFrom(Path("f"),
                             [&](char* buffer, size_t size) -> absl::StatusOr<size_t> {
                               if (++pieces == 3) return absl::AbortedError("no more");
                               std::fill_n(buffer, size, 'x');
                               return size;
                             },
                             {});
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(sandbox_.ReadFile(Path("f"))->bytes, "old");
  EXPECT_THAT(Run("ls -A").out.bytes, "agent.sock\nf\n") << "no temporary file stays";
}

TEST_F(AgentSandboxTest, WritingThroughASymlinkReplacesItsTarget) {
  Run("mkdir d; printf old > d/target; ln -s d/target link; ln -s d dlink");
  ASSERT_TRUE(sandbox_.WriteFile(Path("link"), "new").ok());
  EXPECT_EQ(*ReadSmallFile(Path("d/target")), "new");
  EXPECT_EQ(sandbox_.Stat(Path("link"))->type, FileType::kSymlink);
  ASSERT_TRUE(sandbox_.WriteFile(Path("dlink/x"), "1").ok());
  EXPECT_EQ(*ReadSmallFile(Path("d/x")), "1");
  Run("ln -s loop1 loop2; ln -s loop2 loop1");
  EXPECT_EQ(sandbox_.WriteFile(Path("loop1"), "x").code(), absl::StatusCode::kFailedPrecondition);
}

// C-42, D-27
TEST_F(AgentSandboxTest, ParallelAppendsLoseNothing) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this, i] {
      for (int j = 0; j < 50; ++j) {
        EXPECT_TRUE(sandbox_
                        .WriteFile(Path("log"), std::string(99, static_cast<char>('a' + i)) + "\n",
                                   {.write_mode = WriteMode::kAppend})
                        .ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Run("grep -cE '^(.)\\1{98}$' log").out.bytes, "400\n");
}

// C-50, C-51, D-42
TEST_F(AgentSandboxTest, DownloadIsOnlyBelowUserData) {
  for (const char* path : {"/etc/passwd", "/mnt/user-data2/x", "/mnt"}) {
    EXPECT_EQ(sandbox_.DownloadFile(path).status().code(), absl::StatusCode::kPermissionDenied)
        << path;
  }
  EXPECT_EQ(sandbox_.DownloadFile("/mnt/user-data/../x").status().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST_F(AgentSandboxTest, ReadLimitIsCountedOnBytesReceived) {
  ASSERT_TRUE(sandbox_.WriteFile(Path("f"), std::string(1000, 'x')).ok());
  EXPECT_TRUE(sandbox_.ReadFile(Path("f"), {.limit_bytes = 1000}).ok());
  EXPECT_EQ(sandbox_.ReadFile(Path("f"), {.limit_bytes = 999}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(sandbox_.Ping(absl::Seconds(5)).ok()) << "the sandbox is unharmed";
}

TEST_F(AgentSandboxTest, ListingIsInPathOrderWithTypesAndTruthfulTruncation) {
  Run("mkdir -p t/b/c t/a; printf 12345 > t/b/f; ln -s /etc t/link; touch 't/z'");
  absl::StatusOr<DirectoryListing> listing = sandbox_.ListDir(Path("t"), {.max_depth = 2});
  ASSERT_TRUE(listing.ok()) << listing.status();
  std::vector<std::string> names;
  for (const FileInfo& entry : listing->entries) {
    names.push_back(entry.path.substr(Path("t/").size()));
  }
  EXPECT_THAT(names, ElementsAre("a", "b", "b/c", "b/f", "link", "z"));
  EXPECT_EQ(listing->entries[3].size_bytes, 5);
  EXPECT_EQ(listing->entries[4].type, FileType::kSymlink);
  EXPECT_EQ(listing->entries[4].link_target, "/etc");
  EXPECT_FALSE(listing->summary.truncated());
  EXPECT_FALSE(
      sandbox_.ListDir(Path("t"), {.max_depth = 2, .max_results = 6})->summary.truncated());
  EXPECT_TRUE(sandbox_.ListDir(Path("t"), {.max_depth = 2, .max_results = 5})->summary.truncated());
  EXPECT_EQ(sandbox_.ListDir(Path("missing")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(sandbox_.ListDir(Path("t/b/f")).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(AgentSandboxTest, NamesCanBeMadeMovedAndRemoved) {
  ASSERT_TRUE(sandbox_.MakeDir(Path("a/b/c")).ok());
  ASSERT_TRUE(sandbox_.MakeDir(Path("a/b/c")).ok()) << "an existing folder is fine";
  ASSERT_TRUE(sandbox_.WriteFile(Path("a/b/f"), "x").ok());
  ASSERT_TRUE(sandbox_.Rename(Path("a/b/f"), Path("n/g")).ok());
  EXPECT_EQ(sandbox_.ReadFile(Path("n/g"))->bytes, "x");
  EXPECT_EQ(sandbox_.Remove(Path("a")).code(), absl::StatusCode::kFailedPrecondition);
  Run("ln -s /etc a/b/etc");
  ASSERT_TRUE(sandbox_.Remove(Path("a"), {.recursive = true}).ok());
  EXPECT_TRUE(FileExists("/etc/passwd"));
  EXPECT_EQ(sandbox_.Stat(Path("a")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(sandbox_.Remove(Path("a")).code(), absl::StatusCode::kNotFound);
}

TEST_F(AgentSandboxTest, WatchTellsWhatChangesBelowAFolder) {
  ASSERT_TRUE(sandbox_.MakeDir(Path("w/sub")).ok());
  std::vector<std::string> seen;
  const absl::Status status = sandbox_.Watch(
      Path("w"), absl::Seconds(20),
      [this] { Run("mkdir w/new; touch w/new/inner w/sub/x; rm w/sub/x; touch w/last"); },
      [&](const WatchEvent& event) {
        seen.push_back(std::to_string(static_cast<int>(event.kind)) +
                       event.path.substr(Path("w").size()));
        return event.path != Path("w/last");
      });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(seen, testing::Contains("0/new"));
  EXPECT_THAT(seen, testing::Contains("0/new/inner")) << "also in a folder that is new itself";
  EXPECT_THAT(seen, testing::Contains("0/sub/x"));
  EXPECT_THAT(seen, testing::Contains("2/sub/x"));
}

TEST_F(AgentSandboxTest, DeadAgentIsTerminal) {
  ASSERT_TRUE(sandbox_.Ping(absl::Seconds(5)).ok());
  std::thread killer([this] { agent_->Kill(); });
  const absl::Status status =
      sandbox_.Execute(Command::Argv({"sleep", "1000"}), {.working_directory = folder_}).status();
  killer.join();
  EXPECT_TRUE(IsTerminal(status)) << status;
  EXPECT_TRUE(IsTerminal(sandbox_.Ping(absl::Seconds(5))));
}

TEST_F(AgentSandboxTest, KilledSupervisorLosesNeitherResultNorCommand) {
  const ExecResult result = Run("kill -9 $PPID; sleep 0.1; echo alive; exit 5");
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.out.bytes, "alive\n");
}

TEST_F(AgentSandboxTest, StatsCountTheAgentItself) {
  absl::StatusOr<SandboxStats> stats = sandbox_.Stats();
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_GT(stats->agent_memory_bytes, 100000);
  EXPECT_GE(stats->processes, 1);
}

}  // namespace
}  // namespace cubby
