#include "cubby/cli/command_line.h"

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
#include "cubby/base/file.h"
#include "cubby/base/unique_fd.h"
#include "cubby/cli/testing/fake_provider.h"
#include "nlohmann/json.hpp"

namespace cubby::cli {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::FakeExecution;
using testing::FakeImages;
using testing::FakeProvider;
using testing::FakeSandbox;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Hand borrowed fakes to the command, which wants to own its engine.
class BorrowedProvider : public SandboxProvider {
 public:
  explicit BorrowedProvider(FakeProvider& fake) : fake_(fake) {}
  absl::StatusOr<Created> Create(const SandboxSpec& spec) override { return fake_.Create(spec); }
  absl::StatusOr<std::shared_ptr<Sandbox>> Get(const std::string& id) override {
    return fake_.Get(id);
  }
  absl::StatusOr<std::vector<SandboxInfo>> List() override { return fake_.List(); }
  absl::Status Remove(const std::string& id) override { return fake_.Remove(id); }
  absl::StatusOr<std::string> ConsoleLog(const std::string& id) override {
    return fake_.ConsoleLog(id);
  }

 private:
  FakeProvider& fake_;
};

class BorrowedImages : public ImageStore {
 public:
  explicit BorrowedImages(FakeImages& fake) : fake_(fake) {}
  absl::StatusOr<ImageInfo> Pull(const std::string& reference, const PullOptions& o) override {
    return fake_.Pull(reference, o);
  }
  absl::StatusOr<ImageInfo> Import(const std::string& p, const std::string& r) override {
    return fake_.Import(p, r);
  }
  absl::Status Export(const std::string& r, const std::string& p, ExportFormat f) override {
    return fake_.Export(r, p, f);
  }
  absl::StatusOr<std::vector<ImageInfo>> List() override { return fake_.List(); }
  absl::StatusOr<ImageInfo> Inspect(const std::string& r) override { return fake_.Inspect(r); }
  absl::Status Remove(const std::string& r) override { return fake_.Remove(r); }
  absl::StatusOr<int64_t> Prune(const std::vector<std::string>& l) override {
    return fake_.Prune(l);
  }
  absl::StatusOr<ImageRootfs> Rootfs(const std::string& r) override { return fake_.Rootfs(r); }

 private:
  FakeImages& fake_;
};

class CommandLineTest : public ::testing::Test {
 protected:
  CommandLineTest() {
    signal(SIGPIPE, SIG_IGN);
    unsetenv("CUBBY_IMAGE");
    images_.images["img"] = {.reference = "img", .digest = "sha256:11"};
  }

  struct Outcome {
    int code = 0;
    std::string out;
    std::string err;
  };

  static std::string ContentOf(int fd) {
    std::string content(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(fd, content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
    return content;
  }

  Outcome RunWith(const std::vector<std::string>& words, int in, int out) {
    const unique_fd err(memfd_create("err", MFD_CLOEXEC));
    Outcome outcome;
    outcome.code = CommandLine().Run(
        words,
        {.provider =
             [this](const GlobalOptions&) -> absl::StatusOr<std::unique_ptr<SandboxProvider>> {
           return std::make_unique<BorrowedProvider>(provider_);
         },
         .images = [this](const GlobalOptions&) -> absl::StatusOr<std::unique_ptr<ImageStore>> {
           return std::make_unique<BorrowedImages>(images_);
         }},
        {.in = in, .out = out, .err = err.get()});
    outcome.err = ContentOf(err.get());
    return outcome;
  }

  Outcome Run(const std::vector<std::string>& words, const std::string& input = "") {
    const unique_fd in(memfd_create("in", MFD_CLOEXEC));
    EXPECT_TRUE(WriteAll(in.get(), input).ok());
    lseek(in.get(), 0, SEEK_SET);
    const unique_fd out(memfd_create("out", MFD_CLOEXEC));
    Outcome outcome = RunWith(words, in.get(), out.get());
    outcome.out = ContentOf(out.get());
    return outcome;
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

TEST_F(CommandLineTest, RunPrintsBothStreamsReturnsTheCodeAndRemovesTheSandbox) {
  NewSandboxesRun([](FakeExecution&, const FakeExecution::Sink& sink) {
    sink(Channel::kStdout, "out\n");
    sink(Channel::kStderr, "err\n");
    return ExecResult{.exit_code = 7};
  });
  const Outcome outcome = Run({"run", "img", "--memory", "64M", "-e", "A=b", "--", "prog", "-x"});
  EXPECT_EQ(outcome.code, 7);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
  ASSERT_EQ(provider_.created.size(), 1U);
  EXPECT_EQ(provider_.created[0].limits.memory_bytes, 64 << 20);
  EXPECT_EQ(provider_.removed.size(), 1U);
  EXPECT_THAT(provider_.sandboxes, IsEmpty());
}

TEST_F(CommandLineTest, RunUsesTheImagesCommandWhenNoneIsGiven) {
  images_.images["img"].config = {.entrypoint = {"/e", "1"}, .command = {"c"}};
  std::shared_ptr<FakeSandbox> seen;
  const Outcome outcome = Run({"run", "--keep", "img"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  ASSERT_EQ(provider_.sandboxes.size(), 1U) << "kept";
  const auto& [id, sandbox] = *provider_.sandboxes.begin();
  EXPECT_THAT(sandbox->started[0].argv, ElementsAre("/e", "1", "c"));
  EXPECT_THAT(outcome.err, HasSubstr(id));

  images_.images["img"].config = {};
  const Outcome nothing = Run({"run", "img"});
  EXPECT_EQ(nothing.code, kOwnFailure);
  EXPECT_THAT(nothing.err, HasSubstr("no command"));
  EXPECT_THAT(provider_.created, ::testing::SizeIs(1)) << "nothing is made for it";
}

TEST_F(CommandLineTest, TheExitCodeTellsTimeOutSignalAndStartErrorsApart) {
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

TEST_F(CommandLineTest, TimeOutAndMemoryLimitAreExplained) {
  FakeSandbox& sandbox = Add(kId);
  sandbox.body = [](FakeExecution&, const FakeExecution::Sink&) {
    return ExecResult{.signal = 9, .timed_out = true, .out_of_memory = true};
  };
  const Outcome outcome = Run({"exec", "--timeout", "5", kId, "x"});
  EXPECT_THAT(outcome.err, HasSubstr("time-out of 5.0 s"));
  EXPECT_THAT(outcome.err, HasSubstr("--memory"));
  EXPECT_EQ(sandbox.started_options[0].timeout, absl::Seconds(5));
}

TEST_F(CommandLineTest, JsonHasEverythingAndBase64ForOtherBytes) {
  NewSandboxesRun([](FakeExecution&, const FakeExecution::Sink& sink) {
    sink(Channel::kStdout, "0123456789");
    sink(Channel::kStderr, "\xff\xfe");
    return ExecResult{.exit_code = 3, .wall_time = absl::Milliseconds(5)};
  });
  const Outcome outcome = Run({"run", "--json", "--output-limit", "4", "img", "x"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.err, "");
  const json result = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << outcome.out;
  EXPECT_EQ(result["exit_code"], 3);
  EXPECT_EQ(result["signal"], 0);
  EXPECT_EQ(result["timed_out"], false);
  EXPECT_EQ(result["stdout"], "0189");
  EXPECT_EQ(result["stdout_total_bytes"], 10);
  EXPECT_EQ(result["stdout_truncated"], true);
  EXPECT_EQ(result["stderr_base64"], "//4=");
  EXPECT_FALSE(result.contains("stderr"));
  EXPECT_EQ(result["stderr_truncated"], false);
  EXPECT_EQ(result["stages"][0]["name"], "mount");
  EXPECT_EQ(result["stages"][0]["milliseconds"], 2.0);
}

TEST_F(CommandLineTest, ErrorsAreOneLineOrJson) {
  const Outcome line = Run({"exec", "ffff\n", "x"});
  EXPECT_EQ(line.code, kOwnFailure);
  EXPECT_EQ(line.out, "");
  EXPECT_EQ(std::count(line.err.begin(), line.err.end(), '\n'), 1) << line.err;
  EXPECT_EQ(line.err.rfind("cubby: ", 0), 0U);

  provider_.create_error =
      MakeError(absl::StatusCode::kResourceExhausted, "disk full",
                {.error_number = ENOSPC, .path = "/x", .fate = Fate::kRetryable});
  const Outcome outcome = Run({"run", "--json", "img", "x"});
  EXPECT_EQ(outcome.code, kOwnFailure);
  const json error = json::parse(outcome.out, nullptr, false)["error"];
  EXPECT_EQ(error["code"], "RESOURCE_EXHAUSTED");
  EXPECT_EQ(error["message"], "disk full");
  EXPECT_EQ(error["errno"], ENOSPC);
  EXPECT_EQ(error["path"], "/x");
  EXPECT_EQ(error["fate"], "retryable");

  const Outcome usage = Run({"run", "--json", "--memory", "lots", "img", "x"});
  EXPECT_EQ(json::parse(usage.out, nullptr, false)["error"]["code"], "INVALID_ARGUMENT");
}

TEST_F(CommandLineTest, AnImageIsPulledByPolicy) {
  EXPECT_EQ(Run({"run", "img", "x"}).code, 0);
  EXPECT_THAT(images_.pulled, IsEmpty());
  const Outcome pulled = Run({"run", "other", "x"});
  EXPECT_EQ(pulled.code, 0);
  EXPECT_THAT(images_.pulled, ElementsAre("other"));
  EXPECT_THAT(pulled.err, HasSubstr("other: fetching 50%"));
  EXPECT_EQ(Run({"run", "--pull", "always", "img", "x"}).code, 0);
  EXPECT_THAT(images_.pulled, ElementsAre("other", "img"));
  const Outcome never = Run({"create", "--pull=never", "third"});
  EXPECT_EQ(never.code, kOwnFailure);
  EXPECT_THAT(never.err, HasSubstr("cubby image pull third"));
}

TEST_F(CommandLineTest, CreatePrintsTheIdAlone) {
  const Outcome outcome = Run({"create", "--image", "img", "--id", kId, "--label", "a=b=c"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, absl::StrCat(kId, "\n"));
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(provider_.created[0].labels.at("a"), "b=c");
  EXPECT_EQ(Run({"create", "img", "--id", "xyz"}).code, kOwnFailure);
}

TEST_F(CommandLineTest, MountsAreCheckedBeforeAnythingIsMade) {
  EXPECT_EQ(Run({"create", "img", "--mount", "/usr/../etc:/data:ro", "--mount", "/tmp:/b"}).code,
            0);
  ASSERT_EQ(provider_.created[0].mounts.size(), 2U);
  EXPECT_EQ(provider_.created[0].mounts[0].host_path, "/etc");
  EXPECT_EQ(provider_.created[0].mounts[0].guest_path, "/data");
  EXPECT_EQ(provider_.created[0].mounts[0].access, MountAccess::kReadOnly);
  EXPECT_EQ(provider_.created[0].mounts[1].access, MountAccess::kReadWrite);
  for (const char* bad : {"/etc", "/etc:", ":/x", "/etc:relative", "/does/not/exist:/x", ""}) {
    EXPECT_EQ(Run({"create", "img", "--mount", bad}).code, kOwnFailure) << bad;
  }
  EXPECT_EQ(provider_.created.size(), 1U);
}

TEST_F(CommandLineTest, InputReachesTheCommandOnlyWithInteractive) {
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

TEST_F(CommandLineTest, ACommandThatEndsDoesNotWaitForInput) {
  Add(kId);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const unique_fd reader(ends[0]);
  const unique_fd writer(ends[1]);  // stays open: no end of file
  const unique_fd out(memfd_create("out", MFD_CLOEXEC));
  EXPECT_EQ(RunWith({"exec", "-i", kId, "true"}, reader.get(), out.get()).code, 0);
}

TEST_F(CommandLineTest, TheFirstSignalIsForwardedTheSecondKills) {
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

TEST_F(CommandLineTest, ASignalWhileTheSandboxIsMadeRemovesItAgain) {
  provider_.on_create = [](FakeSandbox&) {
    kill(getpid(), SIGTERM);
    // The relay's thread has to see it; this is what `first_signal` is read after.
    usleep(100000);
  };
  EXPECT_EQ(Run({"run", "img", "x"}).code, 128 + SIGTERM);
  EXPECT_THAT(provider_.sandboxes, IsEmpty());
  EXPECT_EQ(Run({"create", "img"}).code, 128 + SIGTERM);
  EXPECT_THAT(provider_.sandboxes, IsEmpty());
}

TEST_F(CommandLineTest, ASandboxThatCannotBeRemovedIsSaid) {
  provider_.remove_error = absl::InternalError("stuck");
  const Outcome outcome = Run({"run", "img", "x"});
  EXPECT_EQ(outcome.code, 0) << "the command's code";
  EXPECT_THAT(outcome.err, HasSubstr("stuck"));
  EXPECT_THAT(outcome.err, HasSubstr("cubby rm"));
  provider_.sandboxes.clear();
  const json result = json::parse(Run({"run", "--json", "img", "x"}).out, nullptr, false);
  EXPECT_EQ(result["remove_error"]["message"].is_string(), true);
}

TEST_F(CommandLineTest, ABrokenConnectionFailsAndRemovesTheSandbox) {
  NewSandboxesRun([](FakeExecution&, const FakeExecution::Sink&) {
    return MakeError(absl::StatusCode::kUnavailable, "the sandbox died", {.fate = Fate::kTerminal});
  });
  const Outcome outcome = Run({"run", "img", "x"});
  EXPECT_EQ(outcome.code, kOwnFailure);
  EXPECT_THAT(outcome.err, HasSubstr("the sandbox died"));
  EXPECT_EQ(provider_.removed.size(), 1U);
}

TEST_F(CommandLineTest, AReaderThatGoesAwayEndsTheCommand) {
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

TEST_F(CommandLineTest, AFullDiskUnderTheOutputIsAnError) {
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

TEST_F(CommandLineTest, ATerminalIsRawWhileTheCommandRunsAndRestoredAfter) {
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

TEST_F(CommandLineTest, IdsMayBeShortened) {
  Add("aa00000000000001");
  Add("aa00000000000002");
  Add("bb00000000000003");
  EXPECT_EQ(Run({"exec", "b", "x"}).code, 0);
  const Outcome ambiguous = Run({"exec", "aa", "x"});
  EXPECT_EQ(ambiguous.code, kOwnFailure);
  EXPECT_THAT(ambiguous.err, HasSubstr("aa00000000000001, aa00000000000002"));
  EXPECT_THAT(Run({"exec", "cc", "x"}).err, HasSubstr("cubby ps"));
  EXPECT_EQ(Run({"exec", "", "x"}).code, kOwnFailure);
}

TEST_F(CommandLineTest, RmRemovesWhatItCanAndSaysWhatItCannot) {
  Add("aa00000000000001");
  Add("bb00000000000002");
  const Outcome outcome = Run({"rm", "aa", "zz", "bb00000000000002"});
  EXPECT_EQ(outcome.code, kOwnFailure);
  EXPECT_EQ(outcome.out, "aa00000000000001\nbb00000000000002\n");
  EXPECT_THAT(outcome.err, HasSubstr("zz"));
  Add("cc00000000000003");
  const json result = json::parse(Run({"rm", "--all", "--json"}).out, nullptr, false);
  EXPECT_EQ(result["removed"], json::array({"cc00000000000003"}));
  EXPECT_EQ(Run({"rm"}).code, kOwnFailure);
  EXPECT_EQ(Run({"rm", "--all"}).code, 0) << "nothing to remove is fine";
}

TEST_F(CommandLineTest, PsStatsLogsAndExecutions) {
  Add(kId);
  EXPECT_EQ(Run({"ps", "-q"}).out, absl::StrCat(kId, "\n"));
  EXPECT_THAT(Run({"ps"}).out, HasSubstr("running"));
  EXPECT_EQ(json::parse(Run({"ps", "--json"}).out, nullptr, false)[0]["id"], kId);
  EXPECT_THAT(Run({"stats"}).out, HasSubstr("3 MiB"));
  EXPECT_EQ(json::parse(Run({"stats", "--json", "00"}).out, nullptr, false)[0]["processes"], 2);
  EXPECT_EQ(Run({"logs", kId}).out, absl::StrCat("log of ", kId, "\n"));
  EXPECT_THAT(Run({"executions", kId}).out, HasSubstr("sleep\\n1"));
  EXPECT_EQ(Run({"signal", kId, "e1", "INT"}).code, 0);
  EXPECT_THAT(Run({"signal", kId, "e2"}).err, HasSubstr("e2"));
  EXPECT_EQ(Run({"exec", "-d", kId, "x"}).out, "e1\n");
  EXPECT_EQ(Run({"exec", "-di", kId, "x"}).code, kOwnFailure);
}

TEST_F(CommandLineTest, FilesAreReadWrittenAndListed) {
  FakeSandbox& sandbox = Add(kId);
  EXPECT_EQ(Run({"write", kId, "/f\n", "--mode", "0600"}, "hello\xff").code, 0);
  EXPECT_EQ(sandbox.contents["/f\n"], "hello\xff");
  EXPECT_EQ(Run({"read", kId, "/f\n"}).out, "hello\xff");
  const json content = json::parse(Run({"read", "--json", kId, "/f\n"}).out, nullptr, false);
  EXPECT_EQ(content["content_base64"], "aGVsbG//");
  for (const char* lines : {"0:1", "x", "5:2", ":", "1:2:3", "-1"}) {
    EXPECT_EQ(Run({"read", kId, "/f\n", "--lines", lines}).code, kOwnFailure) << lines;
  }
  EXPECT_EQ(Run({"ls", kId, "/"}).out, "/f\n\n") << "raw when it is no terminal";
  EXPECT_EQ(Run({"ls", "-0", kId, "/"}).out, std::string("/f\n\0", 4));
  EXPECT_EQ(Run({"cp", "-", absl::StrCat(kId, ":/g")}, "copied").code, 0);
  EXPECT_EQ(Run({"cp", absl::StrCat(kId, ":/g"), "-"}).out, "copied");
  EXPECT_EQ(Run({"cp", "a", "b"}).code, kOwnFailure);
}

TEST_F(CommandLineTest, TheEnvironmentIsCheckedAndSecretsAreNotShown) {
  FakeSandbox& sandbox = Add(kId);
  setenv("CUBBY_TEST_SECRET", "s3cret", 1);
  EXPECT_EQ(Run({"exec", "-e", "CUBBY_TEST_SECRET", "-e", "B=x=y", kId, "x"}).code, 0);
  EXPECT_EQ(sandbox.started_options[0].environment.at("CUBBY_TEST_SECRET"), "s3cret");
  EXPECT_EQ(sandbox.started_options[0].environment.at("B"), "x=y");
  for (const char* bad : {"1A=s3cret", "A B=s3cret", "=s3cret", "NOT_SET_ANYWHERE"}) {
    const Outcome outcome = Run({"-v", "exec", "-e", bad, kId, "x"});
    EXPECT_EQ(outcome.code, kOwnFailure) << bad;
    EXPECT_EQ(outcome.err.find("s3cret"), std::string::npos) << outcome.err;
  }
}

TEST_F(CommandLineTest, Images) {
  EXPECT_EQ(Run({"image", "ls", "-q"}).out, "img\n");
  EXPECT_EQ(json::parse(Run({"image", "ls", "--json"}).out, nullptr, false)[0]["digest"],
            "sha256:11");
  EXPECT_EQ(Run({"image", "inspect", "none"}).code, kOwnFailure);
  EXPECT_THAT(Run({"image", "pull", "new"}).out, HasSubstr("new sha256:"));
  EXPECT_EQ(Run({"image", "rm", "new"}).code, 0);
  Add(kId);
  EXPECT_EQ(Run({"image", "prune"}).out, "freed 4 KiB\n");
  EXPECT_THAT(images_.pruned_except, ElementsAre("sha256:aa"));
}

TEST_F(CommandLineTest, HelpAndVersion) {
  const Outcome help = Run({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("124"));
  EXPECT_EQ(Run({}).code, kOwnFailure);
  EXPECT_EQ(Run({"image"}).code, kOwnFailure);
  EXPECT_THAT(Run({"run", "--help"}).out, HasSubstr("--memory SIZE"));
  EXPECT_THAT(Run({"version"}).out, HasSubstr("cubby "));
}

}  // namespace
}  // namespace cubby::cli
