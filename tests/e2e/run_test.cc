// `cubby run`: the whole way from words to an exit code.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/base/file.h"
#include "cubby/base/ids.h"
#include "harness.h"

namespace cubby::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(Run, APythonProgramInTheBaseImage) {
  const Outcome outcome =
      Cubby({"run", kBase, "--", "python3", "-c", "import os; print(os.getpid() > 1, 6 * 7)"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "True 42\n");
  EXPECT_EQ(outcome.err, "");
}

TEST(Run, StreamsAndExitCodePassThrough) {
  const Outcome outcome =
      Cubby({"run", "--image", kBusybox, "-c", "echo out; echo err >&2; exit 42"});
  EXPECT_EQ(outcome.code, 42);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
}

TEST(Run, TheSandboxIsIsolatedAndLimited) {
  const Outcome outcome =
      Cubby({"run", "--image", kBusybox, "--hostname", "box7", "--memory", "64M", "-c",
             "hostname; ls /sys/class/net; id -u; "
             "cat /proc/self/status | grep -E 'NoNewPrivs|Seccomp:'; "
             "ls -d /mnt/user-data/* /mnt/skills; pwd"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("box7\nlo\n"));
  EXPECT_THAT(outcome.out, HasSubstr("NoNewPrivs:\t1\nSeccomp:\t2\n"));
  EXPECT_THAT(outcome.out, HasSubstr("/mnt/skills\n"));
  EXPECT_THAT(outcome.out, HasSubstr("/mnt/user-data/uploads\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n/mnt/user-data/workspace\n"));
}

TEST(Run, JsonSaysEverything) {
  const Outcome outcome = Cubby({"run", "--json", "--image", kBusybox, "--output-limit", "4", "-c",
                                 "printf 0123456789; printf '\\377' >&2; kill -9 $$"});
  EXPECT_EQ(outcome.code, 137);
  const nlohmann::json json = outcome.Json();
  ASSERT_TRUE(json.is_object()) << outcome.out << outcome.err;
  EXPECT_EQ(json["exit_code"], 137);
  EXPECT_EQ(json["signal"], 9);
  EXPECT_EQ(json["timed_out"], false);
  EXPECT_EQ(json["stdout"], "0189");
  EXPECT_EQ(json["stdout_total_bytes"], 10);
  EXPECT_EQ(json["stdout_truncated"], true);
  EXPECT_EQ(json["stderr_base64"], "/w==");
  EXPECT_EQ(json["stderr_total_bytes"], 1);
  EXPECT_GE(json["stages"].size(), 1U);
  for (const auto& stage : json["stages"]) {
    EXPECT_TRUE(stage["name"].is_string());
    EXPECT_GE(stage["milliseconds"], 0);
  }
}

TEST(Run, NothingOfItStays) {
  const std::string mark = RandomHex(8);
  EXPECT_EQ(Cubby({"run", "--image", kBusybox, "--label", "mark=" + mark, "-c", "exit 3"}).code, 3);
  EXPECT_THAT(SandboxesWithLabel("mark", mark), IsEmpty());
}

TEST(Run, KeepLeavesItForLater) {
  const std::string mark = RandomHex(8);
  const Outcome outcome = Cubby(
      {"run", "--keep", "--image", kBusybox, "--label", "mark=" + mark, "-c", "echo kept > note"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<std::string> ids = SandboxesWithLabel("mark", mark);
  ASSERT_THAT(ids, SizeIs(1));
  EXPECT_EQ(Cubby({"read", ids[0], "note"}).out, "kept\n");
  EXPECT_EQ(Cubby({"rm", ids[0]}).code, 0);
}

TEST(Run, EnvironmentUserAndWorkingDirectory) {
  const Outcome outcome =
      Cubby({"run", "--image", kBusybox, "-e", "A=x=y z", "-e", "EMPTY=", "-u", "1234:99", "-w",
             "/tmp", "-c", "echo \"$A|${EMPTY-unset}|$(id -u):$(id -g)|$PWD\""});
  EXPECT_EQ(outcome.out, "x=y z||1234:99|/tmp\n") << outcome.err;
}

TEST(Run, MountsShowFoldersOfTheHost) {
  const auto host = TemporaryDirectory::Create(::testing::TempDir(), "cubby-e2e-");
  ASSERT_TRUE(host.ok());
  ASSERT_TRUE(WriteFileAtomically(host->path() + "/f", "from the host", 0644).ok());
  const Outcome outcome =
      Cubby({"run", "--image", kBusybox, "--mount", host->path() + ":/ro:ro", "--mount",
             host->path() + ":/rw", "-c", "cat /ro/f; echo x > /ro/g; echo back > /rw/h"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "from the host");
  EXPECT_THAT(outcome.err, HasSubstr("ead-only"));
  EXPECT_EQ(*ReadSmallFile(host->path() + "/h"), "back\n");
  EXPECT_FALSE(FileExists(host->path() + "/g"));
}

TEST(Run, InputIsStreamedWhileItComes) {
  Background run({"run", "-i", "--image", kBusybox, "-c",
                  "while read line; do echo \"got $line\"; done; echo end"});
  run.Write("one\n");
  ASSERT_TRUE(run.AwaitOutput("got one\n"));
  run.Write("two\n");
  ASSERT_TRUE(run.AwaitOutput("got two\n"));
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(), 130);
}

TEST(Run, ManyMegabytesThroughAPipe) {
  const Outcome outcome = Shell(absl::StrCat("head -c 300000000 /dev/zero | $CUBBY run -i --image ",
                                             kBusybox, " -- cat | wc -c"));
  EXPECT_EQ(outcome.out, "300000000\n") << outcome.err;
}

TEST(Run, SignalsEndTheCommandAndTheSandbox) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string mark = RandomHex(8);
    Background run({"run", "--rm", "--image", kBusybox, "--label", "mark=" + mark, "-c",
                    "echo ready; exec sleep 1000"});
    ASSERT_TRUE(run.AwaitOutput("ready"));
    run.Signal(signal);
    EXPECT_EQ(run.Wait(), 128 + signal);
    EXPECT_THAT(SandboxesWithLabel("mark", mark), IsEmpty());
  }
}

TEST(Run, ASecondSignalEndsACommandThatIgnoresTheFirst) {
  const std::string mark = RandomHex(8);
  Background run({"run", "--image", kBusybox, "--label", "mark=" + mark, "-c",
                  "trap 'echo caught' TERM; echo ready; while :; do sleep 0.05; done"});
  ASSERT_TRUE(run.AwaitOutput("ready"));
  run.Signal(SIGTERM);
  ASSERT_TRUE(run.AwaitOutput("caught"));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 137);
  EXPECT_THAT(SandboxesWithLabel("mark", mark), IsEmpty());
}

TEST(Run, ASignalBeforeTheCommandStartsLeavesNothing) {
  // At many moments of the making of the sandbox.
  const std::string mark = RandomHex(8);
  for (int i = 0; i < 12; ++i) {
    Background run({"run", "--image", kBusybox, "--label", "mark=" + mark, "--", "sleep", "1000"});
    usleep(static_cast<useconds_t>(i) * 8000);
    run.Signal(SIGTERM);
    const int code = run.Wait();
    EXPECT_TRUE(code == 143 || code == 125) << code;
  }
  EXPECT_THAT(SandboxesWithLabel("mark", mark), IsEmpty());
}

TEST(Run, ASignalToCreateLeavesNothingWhoseIdWasNotPrinted) {
  const std::string mark = RandomHex(8);
  for (int i = 0; i < 10; ++i) {
    Background create({"create", "--image", kBusybox, "--label", "mark=" + mark});
    usleep(static_cast<useconds_t>(i) * 2000);
    create.Signal(SIGINT);
    const int code = create.Wait();
    create.AwaitOutput("\n", absl::Seconds(1));
    if (code == 0) {
      EXPECT_EQ(Cubby({"rm", create.out().substr(0, 16)}).code, 0) << create.out();
    } else {
      EXPECT_EQ(create.out(), "") << code;
    }
  }
  EXPECT_THAT(SandboxesWithLabel("mark", mark), IsEmpty());
}

TEST(Run, KilledInTheMiddleItLeavesASandboxThatIsSeenAndRemoved) {
  const std::string mark = RandomHex(8);
  Background run(
      {"run", "--image", kBusybox, "--label", "mark=" + mark, "-c", "echo ready; exec sleep 1000"});
  ASSERT_TRUE(run.AwaitOutput("ready"));
  run.Signal(SIGKILL);
  EXPECT_EQ(run.Wait(), 137);
  const std::vector<std::string> ids = SandboxesWithLabel("mark", mark);
  ASSERT_THAT(ids, SizeIs(1));
  const Outcome exec = Cubby({"exec", ids[0], "--", "echo", "alive"});
  EXPECT_EQ(exec.out, "alive\n") << exec.err;
  EXPECT_EQ(Cubby({"rm", ids[0]}).code, 0);
  EXPECT_THAT(SandboxesWithLabel("mark", mark), IsEmpty());
}

// In a state directory of its own: a machine whose maker was killed before its record was written
// has no label to be found by, and all that is listed must go.
TEST(Run, KilledAtAnyMomentOfTheMakingNothingIsBeyondRm) {
  const auto own = TemporaryDirectory::Create("/tmp", "cubby-e2e-");
  ASSERT_TRUE(own.ok());
  const std::string state = own->path() + "/state";
  const Options options{.state_dir = state};
  ASSERT_EQ(Cubby({"image", "export", kBusybox, own->path() + "/image.tar"}).code, 0);
  ASSERT_EQ(Cubby({"image", "import", own->path() + "/image.tar", kBusybox}, options).code, 0);
  const auto kill_after = [&state](useconds_t delay) {
    Background run({"run", "--state-dir", state, "--image", kBusybox, "--", "sleep", "1000"});
    usleep(delay);
    run.Signal(SIGKILL);
    run.Wait();
  };
  for (useconds_t i = 0; i < 30; ++i) kill_after(i * 2500);
  const auto listed = [&options] {
    return std::vector<std::string>(
        absl::StrSplit(Cubby({"ps", "--quiet"}, options).out, '\n', absl::SkipEmpty()));
  };
  // On a slow host all of them came before anything was begun.
  for (useconds_t delay = 100000; listed().empty() && delay < 20000000; delay *= 2) {
    kill_after(delay);
  }
  const std::vector<std::string> ids = listed();
  EXPECT_THAT(ids, Not(IsEmpty()));
  for (const std::string& id : ids) {
    const Outcome removed = Cubby({"rm", id}, options);
    EXPECT_EQ(removed.code, 0) << removed.err;
  }
  EXPECT_THAT(listed(), IsEmpty());
  EXPECT_THAT(*ListDirectory(state + "/machines"), IsEmpty());
}

TEST(Run, TheImagesOwnCommandIsRunWhenNoneIsGiven) {
  const Outcome outcome = Cubby({"run", kBusybox});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "the image's own command\n");
}

TEST(Run, ATerminalForTheCommand) {
  // script(1) gives cubby a terminal, as a person has.
  const Outcome outcome =
      Shell(absl::StrCat("script -qec \"stty rows 33 cols 77; $CUBBY run -it --image ", kBusybox,
                         " -c 'stty size; tty'; stty -a\" /dev/null </dev/null"));
  EXPECT_THAT(outcome.out, HasSubstr("33 77\r\n"));
  EXPECT_THAT(outcome.out, HasSubstr("/dev/pts/"));
  EXPECT_THAT(outcome.out, HasSubstr(" icanon")) << "restored";
  EXPECT_THAT(outcome.out, HasSubstr(" echo "));
}

}  // namespace
}  // namespace cubby::e2e
