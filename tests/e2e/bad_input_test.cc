// What goes wrong in real life: each has the right result or one clear error, loses nothing and
// leaves nothing behind.
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/base/file.h"
#include "cubby/base/ids.h"
#include "harness.h"

namespace cubby::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One line, of ours, about the thing.
void ExpectOneError(const Outcome& outcome, const std::string& about) {
  EXPECT_EQ(outcome.code, 125);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(absl::StartsWith(outcome.err, "cubby: ")) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(about));
}

TEST(BadInput, AMissingImage) {
  ExpectOneError(Cubby({"run", "--pull", "never", "localhost/no/such:1", "--", "true"}),
                 "localhost/no/such:1");
}

TEST(BadInput, ARegistryThatDoesNotAnswer) {
  const Outcome outcome = Cubby({"run", "--plain-http", "localhost:9/x/y:1", "--", "true"});
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.err, HasSubstr("localhost:9"));
}

TEST(BadInput, WordsThatCannotBe) {
  ExpectOneError(Cubby({"run", "--memory", "much", kBusybox, "true"}), "much");
  ExpectOneError(Cubby({"run", "--memory", "1K", "--image", kBusybox, "true"}), "memory");
  ExpectOneError(Cubby({"run", "--image", "UPPER CASE", "true"}), "UPPER CASE");
  ExpectOneError(Cubby({"run", "--mount", "/no/such:/x", "--image", kBusybox, "true"}), "/no/such");
  ExpectOneError(Cubby({"nonsense"}), "nonsense");
  TestSandbox sandbox;
  ExpectOneError(sandbox.Exec({"true"}, {"-e", "A=B=C", "-e", "1=x"}), "1");
  ExpectOneError(sandbox.Exec({"true"}, {"-u", "nobody-here"}), "nobody-here");
  ExpectOneError(sandbox.Exec({"true"}, {"-w", "/no/such"}), "/no/such");
  ExpectOneError(Cubby({"read", sandbox.id(), "../../etc/passwd"}), "..");
  ExpectOneError(Cubby({"read", sandbox.id(), ""}), "empty");
}

TEST(BadInput, AnEnvironmentKeyWithAnEqualsSignCannotBeMade) {
  TestSandbox sandbox;
  // The first sign ends the key; the rest is the value.
  EXPECT_EQ(sandbox.Script("echo \"$A\"", {"-e", "A=b=c"}).out, "b=c\n");
  ExpectOneError(sandbox.Exec({"true"}, {"-e", "A B=c"}), "A B");
}

TEST(BadInput, AMissingProgramAndOneThatCannotBeExecuted) {
  TestSandbox sandbox;
  const Outcome missing = sandbox.Exec({"no-such-program"});
  EXPECT_EQ(missing.code, 127);
  EXPECT_THAT(missing.err, HasSubstr("no-such-program"));
  EXPECT_EQ(sandbox.Exec({"/etc/passwd"}).code, 126);
  EXPECT_EQ(sandbox.Exec({"/etc"}).code, 126);
  const nlohmann::json json = sandbox.Exec({"no-such-program"}, {"--json"}).Json();
  EXPECT_EQ(json["error"]["code"], "NOT_FOUND");
  EXPECT_EQ(json["error"]["path"], "no-such-program");
}

TEST(BadInput, AnImageWithoutAShell) {
  TestSandbox sandbox(kBare);
  EXPECT_EQ(sandbox.Exec({"/busybox", "echo", "fine"}).out, "fine\n");
  const Outcome scripted = Cubby({"exec", "-c", "echo hi", sandbox.id()});
  EXPECT_NE(scripted.code, 0);
  EXPECT_THAT(scripted.err, HasSubstr("no shell"));
  EXPECT_EQ(Cubby({"write", sandbox.id(), "f"}, {.input = "works"}).code, 0);
  EXPECT_EQ(Cubby({"read", sandbox.id(), "f"}).out, "works");
}

TEST(BadInput, ACommandThatForksAndClosesItsPipes) {
  TestSandbox sandbox;
  const Outcome outcome =
      sandbox.Script("(exec >&- 2>&- <&-; sleep 1; echo done > /tmp/done) & echo parent");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "parent\n");
  EXPECT_TRUE(Eventually([&] {
    return Cubby({"read", sandbox.id(), "/tmp/done"}).code == 0;
  })) << "it lives on";
}

TEST(BadInput, ABackgroundChildThatHoldsThePipesDoesNotHoldTheCall) {
  TestSandbox sandbox;
  const Outcome outcome = sandbox.Script("sleep 1000 & echo started");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "started\n");
}

TEST(BadInput, ATimeOutKillsGrandchildrenThatLeftTheSession) {
  TestSandbox sandbox;
  const std::string mark = absl::StrCat("5", std::to_string(getpid()));
  const Outcome outcome =
      sandbox.Script(absl::StrCat("trap '' TERM INT HUP; setsid sh -c 'setsid sleep ", mark,
                                  " & exec sleep ", mark, "' & echo begun; sleep ", mark),
                     {"--timeout", "1s"});
  EXPECT_EQ(outcome.code, 124);
  EXPECT_EQ(outcome.out, "begun\n");
  EXPECT_THAT(outcome.err, HasSubstr("time-out"));
  EXPECT_EQ(sandbox.Exec({"pgrep", "-f", absl::StrCat("sleep ", mark)}).out, "");
}

TEST(BadInput, AGigabyteOnStandardError) {
  TestSandbox sandbox;
  Outcome outcome = Shell(absl::StrCat("$CUBBY exec ", sandbox.id(),
                                       " -- sh -c 'head -c 1073741824 /dev/zero >&2; exit 4' "
                                       "2>&1 >/dev/null | wc -c; echo ${PIPESTATUS[0]}"),
                          {.deadline = absl::Seconds(120)});
  EXPECT_EQ(outcome.out, "1073741824\n4\n");
  const nlohmann::json json = Cubby({"exec", "--json", "--output-limit", "1K", sandbox.id(), "--",
                                     "sh", "-c", "head -c 1073741824 /dev/zero >&2"},
                                    {.deadline = absl::Seconds(120)})
                                  .Json();
  EXPECT_EQ(json["stderr_total_bytes"], 1073741824);
  EXPECT_EQ(json["stderr_truncated"], true);
  EXPECT_EQ(json["stderr"].get<std::string>().size(), 1024U);
}

TEST(BadInput, ACommandThatEatsAllMemoryIsKilledAndTheSandboxLives) {
  TestSandbox sandbox(kBase, {"--memory", "64M"});
  const Outcome outcome = sandbox.Exec({"python3", "-c", "x = b'x' * (1 << 30)"});
  EXPECT_EQ(outcome.code, 137) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("memory limit"));
  EXPECT_EQ(sandbox.Exec({"echo", "alive"}).out, "alive\n");
  EXPECT_GT(Cubby({"stats", "--json", sandbox.id()}).Json()[0]["out_of_memory_kills"], 0);
  const nlohmann::json json =
      sandbox.Exec({"python3", "-c", "x = b'x' * (1 << 30)"}, {"--json"}).Json();
  EXPECT_EQ(json["out_of_memory"], true);
  EXPECT_EQ(json["signal"], SIGKILL);
}

TEST(BadInput, AForkBombMeetsTheLimitAndTheSandboxLives) {
  TestSandbox sandbox(kBusybox, {"--processes", "64"});
  const Outcome outcome = sandbox.Script("f() { f | f & }; f; sleep 2", {"--timeout", "10s"});
  EXPECT_NE(outcome.code, 125) << outcome.err;
  EXPECT_TRUE(Eventually([&] {
    const Outcome echo = sandbox.Exec({"echo", "alive"}, {"--timeout", "10s"});
    return echo.out == "alive\n";
  }));
}

TEST(BadInput, AHundredExecsAtOnce) {
  TestSandbox sandbox;
  const Outcome outcome =
      Shell(absl::StrCat("seq 100 | xargs -P 100 -I N $CUBBY exec ", sandbox.id(),
                         " -- sh -c 'echo out-N; echo err-N >&2; exit 0' 2>/dev/null | sort -V"),
            {.deadline = absl::Seconds(100)});
  std::string expected;
  for (int i = 1; i <= 100; ++i) absl::StrAppend(&expected, "out-", i, "\n");
  EXPECT_EQ(outcome.out, expected);
}

TEST(BadInput, AFiveGibibyteFile) {
  TestSandbox sandbox;
  ASSERT_EQ(sandbox
                .Script("truncate -s 5G big && printf end | dd of=big bs=1 seek=5368709117 "
                        "conv=notrunc 2>/dev/null")
                .code,
            0);
  // What is measured is the largest resident size of cubby itself, in KiB.
  const Outcome outcome = Shell(
      absl::StrCat("$CUBBY read ", sandbox.id(),
                   " big | tail -c 3; "
                   "$CUBBY read ",
                   sandbox.id(),
                   " big > >(wc -c) & pid=$!; peak=0; "
                   "while kill -0 $pid 2>/dev/null; do "
                   "now=$(awk '/VmHWM/{print $2}' /proc/$pid/status 2>/dev/null); "
                   "[ \"${now:-0}\" -gt $peak ] && peak=$now; read -t 0.05 <> <(:) || :; done; "
                   "wait $pid; echo $? $peak"),
      {.deadline = absl::Seconds(170)});
  const std::vector<std::string> lines = absl::StrSplit(outcome.out, '\n');
  ASSERT_GE(lines.size(), 2U) << outcome.out << outcome.err;
  EXPECT_TRUE(absl::StartsWith(outcome.out, "end")) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("5368709120"));
  int peak_kib = 0;
  for (const std::string& line : lines) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() == 2 && words[0] == "0") {
      EXPECT_TRUE(absl::SimpleAtoi(words[1], &peak_kib));
    }
  }
  EXPECT_GT(peak_kib, 1000) << outcome.out;
  EXPECT_LT(peak_kib, 64 << 10) << "memory is bounded";
}

TEST(BadInput, AFullDisk) {
  // A state directory on a small file system.
  const auto host = TemporaryDirectory::Create(::testing::TempDir(), "cubby-e2e-");
  ASSERT_TRUE(host.ok());
  const std::string archive = host->path() + "/archive";
  ASSERT_EQ(Cubby({"image", "export", kBusybox, archive}).code, 0);
  const std::string state = host->path() + "/small";
  ASSERT_TRUE(MakeDirectories(state).ok());
  ASSERT_EQ(mount("tmpfs", state.c_str(), "tmpfs", 0, "size=24m"), 0);
  ASSERT_EQ(Cubby({"image", "import", archive, "localhost/s:1"}, {.state_dir = state}).code, 0);
  {
    TestSandbox sandbox("localhost/s:1", {}, state);
    const Outcome filled = sandbox.Script("dd if=/dev/zero of=big bs=1M");
    EXPECT_NE(filled.code, 0);
    EXPECT_THAT(filled.err, HasSubstr("No space left"));
    const Outcome written = Cubby({"write", "--json", sandbox.id(), "more"},
                                  {.input = std::string(1 << 20, 'x'), .state_dir = state});
    EXPECT_EQ(written.Json()["error"]["code"], "RESOURCE_EXHAUSTED") << written.out;
    EXPECT_EQ(Cubby({"read", sandbox.id(), "more"}, {.state_dir = state}).code, 125)
        << "no half file";
    // Nothing more fits, and what is there still works.
    const Outcome another = Cubby({"run", "localhost/s:1", "--", "true"}, {.state_dir = state});
    EXPECT_TRUE(another.code == 0 || absl::StrContains(another.err, "No space left"))
        << another.err;
    const Outcome import =
        Cubby({"image", "import", archive, "localhost/s:2"}, {.state_dir = state});
    EXPECT_TRUE(import.code == 0 || absl::StrContains(import.err, "No space left")) << import.err;
    EXPECT_EQ(sandbox.Script("rm big; echo room > f; cat f").out, "room\n");
  }
  EXPECT_EQ(Cubby({"ps", "-q"}, {.state_dir = state}).out, "");
  EXPECT_EQ(umount(state.c_str()), 0);
}

TEST(BadInput, AMachineThatIsKilledIsSeenDeadAndRemoved) {
  const std::string mark = RandomHex(8);
  const Outcome created = Cubby({"create", "--image", kBusybox, "--label", "mark=" + mark});
  ASSERT_EQ(created.code, 0) << created.err;
  const std::string id = created.out.substr(0, 16);
  Background exec({"exec", id, "--", "sh", "-c", "echo ready; exec sleep 987654"});
  ASSERT_TRUE(exec.AwaitOutput("ready"));
  // Its PID 1 is the agent, the parent of everything in it.
  const Outcome killed = Shell(
      "for p in $(pgrep -f 'sleep 987654'); do "
      "ns=$(readlink /proc/$p/ns/pid); for q in /proc/[0-9]*; do "
      "[ \"$(readlink $q/ns/pid)\" = \"$ns\" ] && [ \"$ns\" != \"$(readlink /proc/self/ns/pid)\" ] "
      "&& grep -q '^NSpid:.*[[:space:]]1$' $q/status && kill -9 ${q#/proc/} && echo killed; "
      "done; done");
  ASSERT_THAT(killed.out, HasSubstr("killed"));
  EXPECT_EQ(exec.Wait(), 125);
  const Outcome after = Cubby({"exec", "--json", id, "true"});
  EXPECT_EQ(after.code, 125);
  EXPECT_EQ(after.Json()["error"]["fate"], "terminal") << after.out;
  EXPECT_TRUE(Eventually([&] {
    for (const auto& sandbox : Cubby({"ps", "--json"}).Json()) {
      if (sandbox["id"] == id) return sandbox["state"] == "dead";
    }
    return false;
  }));
  EXPECT_EQ(Cubby({"rm", id}).code, 0);
  EXPECT_THAT(SandboxesWithLabel("mark", mark), IsEmpty());
}

TEST(BadInput, ARuntimeThatIsMissingOrFails) {
  ExpectOneError(Cubby({"run", "--runtime", "/no/such/runtime", "--image", kBusybox, "true"}),
                 "/no/such/runtime");
  const std::string mark = RandomHex(8);
  const Outcome outcome = Cubby(
      {"run", "--runtime", "/bin/false", "--image", kBusybox, "--label", "mark=" + mark, "true"});
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(SandboxesWithLabel("mark", mark), IsEmpty());
}

TEST(BadInput, ARuntimeThatIsKilledWhileItWorks) {
  const auto host = TemporaryDirectory::Create(::testing::TempDir(), "cubby-e2e-");
  ASSERT_TRUE(host.ok());
  const std::string runtime = host->path() + "/runtime";
  ASSERT_TRUE(WriteFileAtomically(runtime,
                                  "#!/bin/sh\ncase \"$*\" in *delete*|*kill*|*state*) exec crun "
                                  "\"$@\";; esac\nkill -9 $$\n",
                                  0755)
                  .ok());
  const std::string mark = RandomHex(8);
  const Outcome outcome =
      Cubby({"run", "--runtime", runtime, "--image", kBusybox, "--label", "mark=" + mark, "true"});
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.err, HasSubstr("cubby: "));
  EXPECT_THAT(SandboxesWithLabel("mark", mark), IsEmpty());
}

TEST(BadInput, AFullDiskUnderTheOutput) {
  const Outcome outcome =
      Shell(absl::StrCat("$CUBBY run --image ", kBusybox, " -- yes > /dev/full"));
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.err, HasSubstr("No space left"));
}

TEST(BadInput, AReaderThatGoesAwayEndsAnEndlessCommandAndItsSandbox) {
  const std::string mark = RandomHex(8);
  const Outcome outcome = Shell(absl::StrCat("$CUBBY run --label mark=", mark, " --image ",
                                             kBusybox, " -- yes | head -1; echo ${PIPESTATUS[0]}"));
  EXPECT_EQ(outcome.out, "y\n141\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(SandboxesWithLabel("mark", mark), IsEmpty());
}

}  // namespace
}  // namespace cubby::e2e
