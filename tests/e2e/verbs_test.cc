// Every other verb on its normal path, from a sandbox's making to its end.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/base/file.h"
#include "harness.h"

namespace cubby::e2e {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Verbs, ASandboxFromCreateToRm) {
  const Outcome created = Cubby({"create", "--image", kBusybox, "--label", "who=me"});
  ASSERT_EQ(created.code, 0) << created.err;
  EXPECT_EQ(created.err, "");
  const std::string id = created.out.substr(0, 16);
  EXPECT_EQ(created.out, id + "\n");

  EXPECT_THAT(Cubby({"ps"}).out, HasSubstr(id));
  EXPECT_THAT(Cubby({"ps", "-q"}).out, HasSubstr(id + "\n"));
  EXPECT_EQ(Cubby({"exec", id, "echo", "hi"}).out, "hi\n");
  const Outcome stats = Cubby({"stats", "--json", id});
  ASSERT_TRUE(stats.Json().is_array()) << stats.err;
  EXPECT_GT(stats.Json()[0]["memory_bytes"], 0);
  EXPECT_GT(stats.Json()[0]["agent_memory_bytes"], 0);
  EXPECT_EQ(stats.Json()[0]["memory_limit_bytes"], 1 << 30);
  EXPECT_EQ(Cubby({"logs", id}).code, 0);
  EXPECT_EQ(Cubby({"rm", id}).out, id + "\n");
  EXPECT_THAT(Cubby({"ps"}).out, Not(HasSubstr(id)));
  const Outcome gone = Cubby({"exec", id, "true"});
  EXPECT_EQ(gone.code, 125);
  EXPECT_THAT(gone.err, HasSubstr(id));
  EXPECT_EQ(Cubby({"rm", id}).code, 125);
}

TEST(Verbs, AnIdMayBeChosenAndIsTakenOnce) {
  const std::string id = "00000000e2e00001";
  const TestSandbox sandbox(kBusybox, {"--id", id});
  EXPECT_EQ(sandbox.id(), id);
  const Outcome again = Cubby({"create", "--image", kBusybox, "--id", id, "--json"});
  EXPECT_EQ(again.code, 125);
  EXPECT_EQ(again.Json()["error"]["code"], "ALREADY_EXISTS") << again.out;
  EXPECT_EQ(Cubby({"exec", "00000000e2e0", "echo", "still there"}).out, "still there\n");
}

TEST(Verbs, EnvironmentOfTheSandboxIsUnderThatOfTheCommand) {
  TestSandbox sandbox(kBusybox, {"-e", "A=sandbox", "-e", "B=sandbox"});
  EXPECT_EQ(sandbox.Script("echo $A $B", {"-e", "B=command"}).out, "sandbox command\n");
}

TEST(Verbs, ExecJson) {
  TestSandbox sandbox;
  const nlohmann::json json = sandbox.Exec({"sh", "-c", "echo o; exit 2"}, {"--json"}).Json();
  EXPECT_EQ(json["id"], sandbox.id());
  EXPECT_EQ(json["exit_code"], 2);
  EXPECT_EQ(json["stdout"], "o\n");
  EXPECT_EQ(json["stderr"], "");
  EXPECT_EQ(json["timed_out"], false);
}

TEST(Verbs, DetachedExecutions) {
  TestSandbox sandbox;
  EXPECT_EQ(sandbox.Script("echo begun; exec sleep 1000", {"-d", "--execution-id", "job"}).out,
            "job\n");
  const nlohmann::json list = Cubby({"executions", "--json", sandbox.id()}).Json();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["execution_id"], "job");
  EXPECT_EQ(list[0]["running"], true);
  const Outcome twice = sandbox.Script("true", {"--execution-id", "job", "--json"});
  EXPECT_EQ(twice.Json()["error"]["code"], "ALREADY_EXISTS");
  Background attached({"attach", sandbox.id(), "job"});
  ASSERT_TRUE(attached.AwaitOutput("begun\n"));
  EXPECT_EQ(Cubby({"signal", sandbox.id(), "job", "USR1"}).code, 0);
  EXPECT_EQ(attached.Wait(), 128 + SIGUSR1);
}

TEST(Verbs, FilesAreWrittenReadAndListed) {
  const TestSandbox sandbox;
  const std::string& id = sandbox.id();
  EXPECT_EQ(
      Cubby({"write", id, "deep/er/f", "--mode", "0600"}, {.input = "one\ntwo\nthree\n"}).code, 0);
  EXPECT_EQ(Cubby({"write", id, "deep/er/f", "--append"}, {.input = "four"}).code, 0);
  EXPECT_EQ(Cubby({"read", id, "deep/er/f"}).out, "one\ntwo\nthree\nfour");
  EXPECT_EQ(Cubby({"read", id, "deep/er/f", "--lines", "2:3"}).out, "two\nthree\n");
  EXPECT_EQ(Cubby({"read", id, "deep/er/f", "--lines", "4:"}).out, "four");
  EXPECT_EQ(Cubby({"read", id, "deep/er/f", "--lines", "9:"}).out, "");
  const nlohmann::json content = Cubby({"read", "--json", id, "deep/er/f"}).Json();
  EXPECT_EQ(content["lines"], 4);
  EXPECT_EQ(content["end_of_file"], true);
  EXPECT_EQ(Cubby({"ls", id, "--depth", "3"}).out,
            "/mnt/user-data/workspace/deep/\n"
            "/mnt/user-data/workspace/deep/er/\n"
            "/mnt/user-data/workspace/deep/er/f\n");
  EXPECT_EQ(Cubby({"ls", id}).out, "/mnt/user-data/workspace/deep/\n");
  const nlohmann::json list = Cubby({"ls", "--json", id, "deep/er"}).Json();
  EXPECT_EQ(list["entries"][0]["mode"], "0600");
  EXPECT_EQ(list["entries"][0]["size_bytes"], 18);
  EXPECT_EQ(Cubby({"ls", "--json", id, "none"}).Json()["error"]["code"], "NOT_FOUND");
  EXPECT_EQ(Cubby({"ls", "--json", id, "deep/er/f"}).Json()["error"]["code"],
            "FAILED_PRECONDITION");
}

TEST(Verbs, IgnoredNamesAreShownOnRequest) {
  TestSandbox sandbox;
  ASSERT_EQ(sandbox.Script("mkdir node_modules src").code, 0);
  EXPECT_EQ(Cubby({"ls", sandbox.id()}).out, "/mnt/user-data/workspace/src/\n");
  EXPECT_THAT(Cubby({"ls", "--no-ignore", sandbox.id()}).out, HasSubstr("node_modules/"));
}

TEST(Verbs, OddNamesSurviveEveryVerb) {
  const TestSandbox sandbox;
  const std::string name = "-odd \n\t\xff:'\"$\\ ";
  const auto host = TemporaryDirectory::Create(::testing::TempDir(), "cubby-e2e-");
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(Cubby({"write", sandbox.id(), "--", name}, {.input = "x"}).code, 0);
  EXPECT_EQ(Cubby({"read", sandbox.id(), "--", name}).out, "x");
  EXPECT_EQ(Cubby({"ls", "-0", sandbox.id()}).out,
            absl::StrCat("/mnt/user-data/workspace/", name, std::string(1, '\0')));
  EXPECT_EQ(Cubby({"cp", absl::StrCat(sandbox.id(), ":", name), host->path()}).code, 0);
  EXPECT_THAT(*ListDirectory(host->path()), ElementsAre(name));
  EXPECT_EQ(Cubby({"cp", host->path() + "/" + name, absl::StrCat(sandbox.id(), ":/tmp")}).code, 0);
  EXPECT_EQ(Cubby({"read", sandbox.id(), "/tmp/" + name}).out, "x");
  const nlohmann::json list = Cubby({"ls", "--json", sandbox.id()}).Json();
  EXPECT_TRUE(list["entries"][0].contains("path_base64")) << list;
}

TEST(Verbs, TreesSurviveARoundTrip) {
  TestSandbox sandbox;
  const auto host = TemporaryDirectory::Create(::testing::TempDir(), "cubby-e2e-");
  ASSERT_TRUE(host.ok());
  const Outcome outcome = Shell(absl::StrCat(
      "set -e; cd ", host->path(),
      "; mkdir -p src/a/b src/empty; head -c 3000000 /dev/urandom > src/a/big; echo x > src/a/b/x; "
      "chmod 750 src/a; chmod 755 src/a/b/x; ln -s a/big src/link; : > src/none; "
      "$CUBBY cp src ",
      sandbox.id(), ":copy; $CUBBY cp ", sandbox.id(),
      ":copy back; "
      "diff -r --no-dereference src back; "
      "diff <(cd src; find . -printf '%P %y %m %l\\n' | sort) "
      "<(cd back; find . -printf '%P %y %m %l\\n' | sort)"));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(sandbox.Script("ls -A copy | tr '\\n' ' '; readlink copy/link").out,
            "a empty link none a/big\n");
}

TEST(Verbs, AHostileSandboxCannotCopyBeyondTheDestination) {
  TestSandbox sandbox;
  const auto host = TemporaryDirectory::Create(::testing::TempDir(), "cubby-e2e-");
  ASSERT_TRUE(host.ok());
  ASSERT_EQ(sandbox
                .Script("mkdir t; ln -s /etc t/etc; ln -s ../../../../../../tmp t/up; "
                        "mkdir t/sub; echo evil > t/sub/f; chmod 6777 t/sub/f; mkfifo t/p")
                .code,
            0);
  // What an earlier copy might have left: a link where a folder comes.
  const std::string outside = host->path() + "/outside";
  ASSERT_TRUE(MakeDirectories(outside).ok());
  ASSERT_TRUE(MakeDirectories(host->path() + "/dst").ok());
  ASSERT_EQ(symlink(outside.c_str(), (host->path() + "/dst/sub").c_str()), 0);
  const std::string source = absl::StrCat(sandbox.id(), ":t/.");
  Outcome outcome = Cubby({"cp", source, host->path() + "/dst"});
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.err, HasSubstr("symlink"));
  EXPECT_TRUE(ListDirectory(outside)->empty());
  unlink((host->path() + "/dst/sub").c_str());
  outcome = Cubby({"cp", source, host->path() + "/dst"});
  EXPECT_EQ(outcome.code, 1) << "some were left out";
  EXPECT_THAT(*ListDirectory(host->path() + "/dst"), ElementsAre("sub"));
  struct stat status = {};
  ASSERT_EQ(stat((host->path() + "/dst/sub/f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0777U);
}

TEST(Verbs, DownloadTakesOnlyUserDataAndItsLimit) {
  TestSandbox sandbox;
  const auto host = TemporaryDirectory::Create(::testing::TempDir(), "cubby-e2e-");
  ASSERT_TRUE(host.ok());
  ASSERT_EQ(sandbox.Script("echo result > ../outputs/r; ln -s /etc/passwd leak").code, 0);
  EXPECT_EQ(Cubby({"download", sandbox.id(), "/mnt/user-data/outputs/r", host->path()}).code, 0);
  EXPECT_EQ(*ReadSmallFile(host->path() + "/r"), "result\n");
  EXPECT_EQ(Cubby({"download", sandbox.id(), "/mnt/user-data/outputs/r", "-"}).out, "result\n");
  EXPECT_EQ(Cubby({"download", "--json", sandbox.id(), "/etc/passwd", "-"}).Json()["error"]["code"],
            "PERMISSION_DENIED");
  const Outcome large =
      Cubby({"download", "--json", "--limit", "3", sandbox.id(), "/mnt/user-data/outputs/r", "-"});
  EXPECT_EQ(large.Json()["error"]["code"], "RESOURCE_EXHAUSTED");
}

TEST(Verbs, Images) {
  EXPECT_THAT(Cubby({"image", "ls", "-q"}).out, HasSubstr(kBusybox));
  const nlohmann::json image = Cubby({"image", "inspect", kBusybox}).Json();
  EXPECT_EQ(image["reference"], kBusybox);
  EXPECT_EQ(image["config"]["os"], "linux");
  const auto host = TemporaryDirectory::Create(::testing::TempDir(), "cubby-e2e-");
  ASSERT_TRUE(host.ok());
  const std::string state = host->path() + "/state";
  for (const std::string format : {"oci-archive", "oci-layout", "docker-archive"}) {
    const std::string path = host->path() + "/" + format;
    Outcome outcome = Cubby({"image", "export", "--format", format, kBare, path});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const std::string name = absl::StrCat("localhost/again/", format, ":1");
    outcome = Cubby({"image", "import", path, name}, {.state_dir = state});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(name));
    outcome =
        Cubby({"run", "--image", name, "--", "/busybox", "echo", "again"}, {.state_dir = state});
    EXPECT_EQ(outcome.out, "again\n") << outcome.err;
  }
  EXPECT_EQ(Cubby({"image", "rm", "localhost/again/oci-archive:1"}, {.state_dir = state}).code, 0);
  EXPECT_THAT(Cubby({"image", "ls", "-q"}, {.state_dir = state}).out,
              Not(HasSubstr("oci-archive")));
  EXPECT_EQ(Cubby({"image", "prune", "--json"}, {.state_dir = state}).code, 0);
  EXPECT_EQ(
      Cubby({"run", "--image", "localhost/again/oci-layout:1", "--", "/busybox", "echo", "ok"},
            {.state_dir = state})
          .out,
      "ok\n");
}

TEST(Verbs, PruneKeepsTheLayersOfSandboxes) {
  const auto host = TemporaryDirectory::Create(::testing::TempDir(), "cubby-e2e-");
  ASSERT_TRUE(host.ok());
  const std::string state = host->path() + "/state";
  const std::string path = host->path() + "/archive";
  ASSERT_EQ(Cubby({"image", "export", kBusybox, path}).code, 0);
  ASSERT_EQ(Cubby({"image", "import", path, "localhost/p:1"}, {.state_dir = state}).code, 0);
  {
    TestSandbox sandbox("localhost/p:1", {}, state);
    EXPECT_EQ(Cubby({"image", "rm", "localhost/p:1"}, {.state_dir = state}).code, 0);
    EXPECT_EQ(Cubby({"image", "prune"}, {.state_dir = state}).code, 0);
    EXPECT_EQ(sandbox.Script("cat /bin/busybox | wc -c >/dev/null; echo lives").out, "lives\n");
  }
  const nlohmann::json freed = Cubby({"image", "prune", "--json"}, {.state_dir = state}).Json();
  EXPECT_GT(freed["freed_bytes"], 0) << freed;
}

TEST(Verbs, VersionManAndCompletion) {
  EXPECT_THAT(Cubby({"version"}).out, HasSubstr("cubby "));
  EXPECT_EQ(Shell("$CUBBY man | groff -man -Tutf8 -ww -z 2>&1").out, "");
  EXPECT_EQ(Shell("$CUBBY completion bash | bash -n").code, 0);
  EXPECT_EQ(Shell("$CUBBY completion zsh | zsh -n").code, 0);
}

TEST(Verbs, DoctorLooksAtEverythingAndSaysWhatToDo) {
  const nlohmann::json checks = Cubby({"doctor", "--json"}).Json();
  ASSERT_TRUE(checks.is_array());
  bool overlay = false;
  for (const auto& check : checks) {
    if (check["name"] == "overlay") overlay = check["verdict"] == "ok";
    EXPECT_EQ(check["verdict"] == "ok", check["remedy"] == "") << check;
  }
  EXPECT_TRUE(overlay) << "these tests run on it";
  const Outcome missing = Cubby({"doctor", "--runtime", "/no/such/runtime"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.out, HasSubstr("\nmissing  runtime: "));
  EXPECT_EQ(missing.out.find("\033"), std::string::npos) << "no colours in a pipe";
}

TEST(Verbs, AReaderThatGoesAwayIsNoNews) {
  const Outcome outcome = Shell("$CUBBY --help | head -1; echo ${PIPESTATUS[0]}");
  EXPECT_THAT(outcome.out, HasSubstr("Usage: cubby"));
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace cubby::e2e
