// The verbs over a real agent that runs on the host: real processes, pipes, signals and files. What
// needs a machine of its own is in tests/e2e.
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "cubby/agent/testing/host_agent.h"
#include "cubby/base/deadline.h"
#include "cubby/base/file.h"
#include "cubby/cli/testing/run.h"
#include "cubby/sandbox/agent_sandbox.h"

namespace cubby::cli {
namespace {

using ::testing::HasSubstr;
using testing::Outcome;

constexpr char kId[] = "0123456789abcdef";

// One sandbox, which is the agent.
class AgentProvider : public SandboxProvider {
 public:
  explicit AgentProvider(agent::HostAgent& agent) : agent_(agent) {}
  absl::StatusOr<Created> Create(const SandboxSpec&) override {
    return absl::UnimplementedError("create");
  }
  absl::StatusOr<std::shared_ptr<Sandbox>> Get(const std::string& id) override {
    return std::make_shared<AgentSandbox>(id, [this] { return agent_.Connect(); });
  }
  absl::StatusOr<std::vector<SandboxInfo>> List() override {
    return std::vector<SandboxInfo>{{.id = kId, .state = SandboxState::kRunning}};
  }
  absl::Status Remove(const std::string&) override { return absl::UnimplementedError("remove"); }
  absl::StatusOr<std::string> ConsoleLog(const std::string&) override { return ""; }

 private:
  agent::HostAgent& agent_;
};

class RealAgentTest : public ::testing::Test {
 protected:
  RealAgentTest() : agent_(agent::HostAgent::Start()), folder_(agent_->folder()) {
    signal(SIGPIPE, SIG_IGN);
  }

  Context::Engine Engine() {
    return {.provider =
                [this](const GlobalOptions&) -> absl::StatusOr<std::unique_ptr<SandboxProvider>> {
              return std::make_unique<AgentProvider>(*agent_);
            },
            .images = [](const GlobalOptions&) -> absl::StatusOr<std::unique_ptr<ImageStore>> {
              return absl::UnimplementedError("images");
            }};
  }
  Outcome RunWith(const std::vector<std::string>& words, int in, int out) {
    return testing::RunWith(Engine(), words, in, out);
  }
  Outcome Run(const std::vector<std::string>& words, const std::string& input = "") {
    return testing::Run(Engine(), words, input);
  }
  Outcome Exec(std::vector<std::string> options, std::vector<std::string> command,
               const std::string& input = "") {
    options.insert(options.begin(), "exec");
    options.insert(options.end(), {"-w", folder_, kId, "--"});
    options.insert(options.end(), command.begin(), command.end());
    return Run(options, input);
  }

  std::unique_ptr<agent::HostAgent> agent_;
  const std::string folder_;
};

TEST_F(RealAgentTest, StreamsCodesAndInput) {
  Outcome outcome = Exec({}, {"sh", "-c", "echo out; echo err >&2; exit 5"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
  const std::string large(5 << 20, 'x');
  outcome = Exec({"-i"}, {"cat"}, large);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out == large);
  EXPECT_EQ(Exec({}, {"cat"}, "not passed").out, "");
}

TEST_F(RealAgentTest, InputThatIsNotReadDoesNotHoldTheEnd) {
  EXPECT_EQ(Exec({"-i"}, {"true"}, std::string(8 << 20, 'x')).code, 0);
  EXPECT_EQ(Exec({"-i"}, {"head", "-c", "3"}, std::string(8 << 20, 'x')).out, "xxx");
}

TEST_F(RealAgentTest, StartErrorsHaveTheirCodes) {
  Outcome outcome = Exec({}, {"no-such-program"});
  EXPECT_EQ(outcome.code, 127);
  EXPECT_THAT(outcome.err, HasSubstr("no-such-program"));
  EXPECT_EQ(Exec({}, {"/etc/passwd"}).code, 126);
  EXPECT_EQ(Exec({}, {"/etc"}).code, 126);
  EXPECT_EQ(Exec({}, {"/etc/passwd/x"}).code, 127);
  outcome = Run({"exec", "-w", folder_ + "/missing", kId, "true"});
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.err, HasSubstr("working directory"));
}

TEST_F(RealAgentTest, TimeOutKillsAndReturnsPartialOutput) {
  const Outcome outcome =
      Exec({"--timeout", "300ms"}, {"sh", "-c", "echo begun; setsid sleep 1000 & sleep 1000"});
  EXPECT_EQ(outcome.code, 124);
  EXPECT_EQ(outcome.out, "begun\n");
}

TEST_F(RealAgentTest, SignalsReachTheCommand) {
  // The command says when it is ready, by a pipe that we read.
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const unique_fd reader(ends[0]);
  unique_fd writer(ends[1]);
  const unique_fd in(open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::string seen;
  std::thread watching([&] {
    char piece[64];
    while (true) {
      const ssize_t got = read(reader.get(), piece, sizeof(piece));
      if (got <= 0) return;
      seen.append(piece, static_cast<size_t>(got));
      if (seen == "ready\n") kill(getpid(), SIGINT);
      if (seen == "ready\ncaught\n") kill(getpid(), SIGINT);
    }
  });
  const Outcome outcome =
      RunWith({"exec", "-w", folder_, kId, "--", "sh", "-c",
               "trap 'echo caught' INT; echo ready; while :; do sleep 0.05; done"},
              in.get(), writer.get());
  writer.reset();
  watching.join();
  EXPECT_EQ(outcome.code, 128 + SIGKILL) << outcome.err;
  EXPECT_EQ(seen, "ready\ncaught\n");
}

TEST_F(RealAgentTest, AReaderThatGoesAwayStopsAnEndlessCommand) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  unique_fd reader(ends[0]);
  const unique_fd writer(ends[1]);
  const unique_fd in(open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::thread head([&] {
    char piece[10];
    EXPECT_GT(read(reader.get(), piece, sizeof(piece)), 0);
    reader.reset();
  });
  EXPECT_EQ(RunWith({"exec", "-w", folder_, kId, "yes"}, in.get(), writer.get()).code, 141);
  head.join();
}

TEST_F(RealAgentTest, ATerminalIsGivenAndSized) {
  int master = -1;
  int slave = -1;
  winsize size = {.ws_row = 21, .ws_col = 43};
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, &size), 0);
  const unique_fd master_fd(master);
  const unique_fd slave_fd(slave);
  const unique_fd out(memfd_create("out", MFD_CLOEXEC));
  const Outcome outcome =
      RunWith({"exec", "-it", "-w", folder_, kId, "sh", "-c", "stty size; test -t 0 && echo tty"},
              slave, out.get());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(testing::ContentOf(out.get()), "21 43\r\ntty\r\n");
}

TEST_F(RealAgentTest, DetachedCommandsAreListedFollowedAndSignalled) {
  EXPECT_EQ(Exec({"-d", "--execution-id", "job"}, {"sh", "-c", "echo begun; exec sleep 1000"}).out,
            "job\n");
  EXPECT_THAT(Run({"executions", kId}).out, HasSubstr("running"));
  // The signal must not come before the first words.
  const Deadline deadline = Deadline::After(absl::Seconds(20));
  while (Run({"executions", "--json", kId}).out.find("\"stdout_total_bytes\":6") ==
             std::string::npos &&
         !deadline.Expired()) {
  }
  const Outcome twice = Exec({"--execution-id", "job"}, {"true"});
  EXPECT_EQ(twice.code, 125);
  EXPECT_EQ(Run({"signal", kId, "job", "INT"}).code, 0);
  const Outcome attached = Run({"attach", kId, "job"});
  EXPECT_EQ(attached.code, 128 + SIGINT) << attached.err;
  EXPECT_EQ(attached.out, "begun\n");
  EXPECT_EQ(Run({"signal", kId, "job", "INT"}).code, 125) << "it has ended";

  Exec({"-d", "--execution-id", "tree"},
       {"sh", "-c", "trap '' INT TERM; setsid sleep 1000 & wait"});
  EXPECT_EQ(Run({"signal", kId, "tree", "--kill-all"}).code, 0);
  EXPECT_EQ(Run({"attach", kId, "tree"}).code, 128 + SIGKILL);
}

TEST_F(RealAgentTest, TreesAreCopiedBothWays) {
  const auto host = TemporaryDirectory::Create(::testing::TempDir(), "cubby-cp-");
  ASSERT_TRUE(host.ok());
  const std::string source = host->path() + "/src";
  ASSERT_TRUE(MakeDirectories(source + "/deep/er", 0755).ok());
  const std::string odd = "odd \n\xff'\"-";
  ASSERT_TRUE(WriteFileAtomically(source + "/" + odd, std::string(3 << 20, 'z'), 0640).ok());
  ASSERT_TRUE(WriteFileAtomically(source + "/deep/er/run", "#!/bin/sh\n", 0755).ok());
  ASSERT_EQ(symlink("deep/er/run", (source + "/link").c_str()), 0);
  ASSERT_EQ(chmod((source + "/deep").c_str(), 0700), 0);
  ASSERT_EQ(mkdir((source + "/.git").c_str(), 0755), 0);

  Outcome outcome = Run({"-v", "cp", source, absl::StrCat(kId, ":", folder_, "/dst")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string back = host->path() + "/back";
  outcome = Run({"-v", "cp", absl::StrCat(kId, ":", folder_, "/dst"), back});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto compare =
      RunCommand({.argv = {"sh", "-c",
                           "cd \"$0\" && find . -printf '%P|%y|%m|%l\\0' | sort -z > \"$0.list\"; "
                           "cd \"$1\" && find . -printf '%P|%y|%m|%l\\0' | sort -z > \"$1.list\"; "
                           "diff -r --no-dereference \"$0\" \"$1\" && cmp \"$0.list\" \"$1.list\"",
                           source, back},
                  .environment = {"PATH=/usr/bin:/bin"}},
                 Deadline::After(absl::Seconds(20)));
  ASSERT_TRUE(compare.ok());
  EXPECT_TRUE(compare->status.success()) << compare->out << compare->err;
}

TEST_F(RealAgentTest, AHostileTreeStaysInTheDestination) {
  const auto host = TemporaryDirectory::Create(::testing::TempDir(), "cubby-cp-");
  ASSERT_TRUE(host.ok());
  ASSERT_EQ(Exec({}, {"sh", "-c",
                      "mkdir t t/d && echo x > t/d/f && ln -s /etc t/abs && ln -s ../.. t/up && "
                      "ln -s d t/fine && mkfifo t/fifo && chmod 6755 t/d/f && ln -s t top"})
                .code,
            0);
  const Outcome outcome = Run({"cp", absl::StrCat(kId, ":", folder_, "/t"), host->path() + "/c"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("/t/abs"));
  EXPECT_THAT(outcome.err, HasSubstr("/t/up"));
  EXPECT_THAT(outcome.err, HasSubstr("fifo"));
  EXPECT_EQ(*ReadSmallFile(host->path() + "/c/fine/f"), "x\n");
  struct stat status = {};
  ASSERT_EQ(stat((host->path() + "/c/d/f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755U);
  EXPECT_EQ(Run({"cp", absl::StrCat(kId, ":", folder_, "/top"), host->path() + "/l"}).code, 1)
      << "what was named is followed";
  EXPECT_EQ(*ReadSmallFile(host->path() + "/l/d/f"), "x\n");
}

}  // namespace
}  // namespace cubby::cli
