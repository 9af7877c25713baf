// The whole path on real containers, over a root file system of busybox alone.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "cubby/backend/container/container_backend.h"
#include "cubby/backend/container/record.h"
#include "cubby/base/agent_program.h"
#include "cubby/base/file.h"
#include "cubby/base/ids.h"
#include "cubby/base/subprocess.h"
#include "cubby/pool/local_provider.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

using testing::HasSubstr;

class ContainerTest : public testing::Test {
 protected:
  ContainerTest() : folder_(*TemporaryDirectory::Create("/tmp", "cubby-container-")) {
    const std::string bin = Layer("bin");
    EXPECT_TRUE(MakeDirectories(bin, 0755).ok());
    EXPECT_TRUE(MakeDirectories(Layer("etc"), 0755).ok());
    EXPECT_TRUE(MakeDirectories(Layer("tmp"), 0755).ok());
    chmod(folder_.path().c_str(), 0755);
    chmod(Layer("").c_str(), 0755);
    EXPECT_TRUE(Host({"cp", "/bin/busybox", bin}));
    EXPECT_TRUE(Host({"/bin/busybox", "--install", "-s", bin}));
    // The links that --install makes name the host's busybox.
    EXPECT_TRUE(Host(
        {"sh", "-c", "cd " + bin + " && for f in *; do [ -L $f ] && ln -sf busybox $f; done; :"}));
    EXPECT_TRUE(WriteFileAtomically(
                    Layer("etc/passwd"),
                    "root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n", 0644)
                    .ok());
    EXPECT_TRUE(WriteFileAtomically(Layer("etc/group"), "root:x:0:\nagent:x:1000:\n", 0644).ok());
    provider_ = OpenProvider({});
  }

  std::unique_ptr<SandboxProvider> OpenProvider(ContainerBackend::Options options) {
    absl::StatusOr<StateDir> state = StateDir::Open(folder_.path() + "/state");
    EXPECT_TRUE(state.ok());
    absl::StatusOr<std::string> agent = FindAgentProgram("");
    EXPECT_TRUE(agent.ok()) << agent.status();
    options.agent_path = *agent;
    options.rootfs = [this](const std::string&) { return Rootfs(); };
    absl::StatusOr<std::unique_ptr<ContainerBackend>> backend =
        ContainerBackend::Open(*state, std::move(options));
    EXPECT_TRUE(backend.ok()) << backend.status();
    return std::make_unique<LocalProvider>(*std::move(backend));
  }

  // Nothing of any machine of this test is on this host.
  void ExpectNothingLeft() {
    EXPECT_TRUE(provider_->List()->empty());
    EXPECT_THAT(*ListDirectory(folder_.path() + "/state/machines"), testing::IsEmpty());
    EXPECT_THAT(*ListDirectory(folder_.path() + "/state/runtime"), testing::IsEmpty());
    EXPECT_THAT(*ReadSmallFile("/proc/self/mountinfo"),
                testing::Not(HasSubstr(folder_.path() + "/state")));
  }
  ~ContainerTest() override {
    const absl::StatusOr<std::vector<SandboxInfo>> all = provider_->List();
    for (const SandboxInfo& info : *all) EXPECT_TRUE(provider_->Remove(info.id).ok());
  }

  static bool Host(std::vector<std::string> argv) {
    const auto result = RunCommand({.argv = std::move(argv), .environment = {"PATH=/usr/bin:/bin"}},
                                   Deadline::After(absl::Seconds(30)));
    return result.ok() && result->status.success();
  }
  std::string Layer(const std::string& name) const { return folder_.path() + "/layer/" + name; }
  ImageRootfs Rootfs() const {
    return {.digest = "sha256:test",
            .config = {.environment = {"PATH=/bin", "FROM_IMAGE=1"}, .user = image_user_},
            .layer_digests = {"sha256:layer"},
            .layer_folders = {folder_.path() + "/layer"}};
  }
  std::shared_ptr<Sandbox> Make(const SandboxSpec& spec = {.image = "test"}) {
    absl::StatusOr<Created> created = provider_->Create(spec);
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? created->sandbox : nullptr;
  }
  static std::string Run(Sandbox& sandbox, const std::string& script) {
    absl::StatusOr<ExecResult> result = sandbox.Execute(Command::Shell(script));
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->out.bytes + result->err.bytes : "";
  }

  TemporaryDirectory folder_;
  std::string image_user_;
  std::unique_ptr<SandboxProvider> provider_;
};

TEST_F(ContainerTest, CommandRunsIsolatedWithStagesNamed) {
  absl::StatusOr<Created> created = provider_->Create({.image = "test"});
  ASSERT_TRUE(created.ok()) << created.status();
  std::vector<std::string> names;
  for (const Stage& stage : created->stages) names.push_back(stage.name);
  EXPECT_THAT(names, testing::ElementsAre("record", "image", "overlay", "cgroup", "config",
                                          "runtime", "confirm", "agent"));
  Sandbox& sandbox = *created->sandbox;
  EXPECT_EQ(Run(sandbox, "hostname"), "cubby\n");
  EXPECT_EQ(Run(sandbox, "echo $FROM_IMAGE; pwd"), "1\n/mnt/user-data/workspace\n");
  EXPECT_EQ(Run(sandbox, "tr '\\0' ' ' < /proc/1/cmdline"), "/.cubby/agent --listen-fd 3 ");
  EXPECT_THAT(Run(sandbox, "ip -o link | wc -l"), "1\n") << "only lo";
  EXPECT_EQ(Run(sandbox, "ls -d /mnt/user-data/* /mnt/skills"),
            "/mnt/skills\n/mnt/user-data/outputs\n/mnt/user-data/uploads\n"
            "/mnt/user-data/workspace\n");
  EXPECT_THAT(Run(sandbox, "mount -t tmpfs none /tmp"), HasSubstr("denied"));
  EXPECT_THAT(Run(sandbox, "unshare -U true"), HasSubstr("not permitted"));
  EXPECT_THAT(Run(sandbox, "grep -E 'Seccomp:|NoNewPrivs' /proc/self/status"),
              "NoNewPrivs:\t1\nSeccomp:\t2\n");
  EXPECT_THAT(Run(sandbox, "echo x > /proc/sys/kernel/hostname"), HasSubstr("ead-only"));
  EXPECT_THAT(Run(sandbox, "head -c 1 /proc/kcore 2>/dev/null | wc -c"), "0\n");
}

TEST_F(ContainerTest, MemoryHogIsKilledAndTheSandboxLivesAndSaysSo) {
  std::shared_ptr<Sandbox> sandbox = Make({.image = "test", .limits = {.memory_bytes = 64 << 20}});
  ASSERT_NE(sandbox, nullptr);
  absl::StatusOr<ExecResult> result =
      sandbox->Execute(Command::Shell("head -c 500000000 /dev/zero | tail"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->out_of_memory);
  EXPECT_EQ(Run(*sandbox, "echo alive"), "alive\n");
  EXPECT_GE(sandbox->Stats()->out_of_memory_kills, 1);
  EXPECT_EQ(sandbox->Stats()->memory_limit_bytes, 64 << 20);
}

TEST_F(ContainerTest, ProcessLimitHoldsAndTheAgentCanStillAnswer) {
  std::shared_ptr<Sandbox> sandbox = Make({.image = "test", .limits = {.processes = 20}});
  ASSERT_NE(sandbox, nullptr);
  absl::StatusOr<ExecResult> bomb = sandbox->Execute(
      Command::Shell("f() { f | f & }; f; sleep 100"), {.timeout = absl::Seconds(1)});
  ASSERT_TRUE(bomb.ok()) << bomb.status();
  EXPECT_EQ(Run(*sandbox, "echo alive"), "alive\n");
  EXPECT_LE(sandbox->Stats()->processes, 3);
}

TEST_F(ContainerTest, FilesBelongToTheSandboxsUser) {
  image_user_ = "agent";
  std::shared_ptr<Sandbox> sandbox = Make();
  ASSERT_NE(sandbox, nullptr);
  ASSERT_TRUE(sandbox->WriteFile("deep/f", "x").ok());
  EXPECT_EQ(Run(*sandbox, "id -u; stat -c %u deep deep/f; echo more >> deep/f; echo $HOME"),
            "1000\n1000\n1000\n/home/agent\n");
  EXPECT_EQ(sandbox->Execute(Command::Argv({"id", "-u"}), {.user = "0"})->out.bytes, "0\n");
  EXPECT_EQ(sandbox->Execute(Command::Argv({"id", "-u"}), {.user = "nobody-here"}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(ContainerTest, ImageWithoutAShellRunsProgramsAndSaysWhatIsMissing) {
  ASSERT_TRUE(RemoveTree(Layer("bin/sh")).ok());
  ASSERT_TRUE(RemoveTree(Layer("bin/ash")).ok());
  std::shared_ptr<Sandbox> sandbox = Make();
  ASSERT_NE(sandbox, nullptr);
  EXPECT_EQ(sandbox->Execute(Command::Argv({"echo", "hi"}))->out.bytes, "hi\n");
  const absl::Status status = sandbox->Execute(Command::Shell("echo hi")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no shell"));
}

TEST_F(ContainerTest, ImageOfNothingServesFiles) {
  ASSERT_TRUE(RemoveTree(Layer("bin")).ok());
  ASSERT_TRUE(RemoveTree(Layer("etc")).ok());
  ASSERT_TRUE(RemoveTree(Layer("tmp")).ok());
  std::shared_ptr<Sandbox> sandbox = Make();
  ASSERT_NE(sandbox, nullptr);
  ASSERT_TRUE(sandbox->WriteFile("a", "b").ok());
  EXPECT_EQ(sandbox->ReadFile("a")->bytes, "b");
  EXPECT_EQ(sandbox->Execute(Command::Argv({"ls"})).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ContainerTest, MountsAreReadOnlyOrWritable) {
  const std::string host = folder_.path() + "/host";
  ASSERT_TRUE(MakeDirectories(host, 0755).ok());
  ASSERT_TRUE(WriteFileAtomically(host + "/f", "x", 0644).ok());
  std::shared_ptr<Sandbox> sandbox =
      Make({.image = "test",
            .mounts = {{host, "/mnt/ro", MountAccess::kReadOnly}, {host, "/mnt/skills/rw"}}});
  ASSERT_NE(sandbox, nullptr);
  EXPECT_THAT(Run(*sandbox, "cat /mnt/ro/f; echo y > /mnt/ro/f"), HasSubstr("ead-only"));
  Run(*sandbox, "echo y > /mnt/skills/rw/g");
  EXPECT_EQ(*ReadSmallFile(host + "/g"), "y\n");
  for (const Mount& bad : {Mount{host, "/proc/x"}, Mount{host, "/"}, Mount{"relative", "/x"},
                           Mount{host, "/a/../b"}, Mount{host, "/.cubby/agent"}}) {
    EXPECT_FALSE(provider_->Create({.image = "test", .mounts = {bad}}).ok()) << bad.guest_path;
  }
  EXPECT_EQ(provider_->Create({.image = "test", .mounts = {{host + "/no", "/x"}}}).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(provider_->List()->size(), 1u) << "failed attempts leave nothing";
}

TEST_F(ContainerTest, KilledContainerIsTerminalAndIsRemoved) {
  std::shared_ptr<Sandbox> sandbox = Make();
  ASSERT_NE(sandbox, nullptr);
  std::thread killer([&] { EXPECT_TRUE(provider_->Remove(sandbox->id()).ok()); });
  const absl::Status status = sandbox->Execute(Command::Argv({"sleep", "1000"})).status();
  killer.join();
  EXPECT_TRUE(IsTerminal(status)) << status;
  EXPECT_TRUE(IsTerminal(sandbox->Ping(absl::Seconds(5))));
  EXPECT_EQ(provider_->Get(sandbox->id()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(provider_->Remove(sandbox->id()).code(), absl::StatusCode::kNotFound);
}

TEST_F(ContainerTest, SameIdIsRefusedAndUnharmed) {
  std::shared_ptr<Sandbox> sandbox = Make();
  ASSERT_NE(sandbox, nullptr);
  EXPECT_EQ(provider_->Create({.image = "test", .id = sandbox->id()}).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Run(*sandbox, "echo alive"), "alive\n");
}

TEST_F(ContainerTest, FullDiskInTheSandboxIsAClearError) {
  const std::string host = folder_.path() + "/small";
  ASSERT_TRUE(MakeDirectories(host, 0755).ok());
  ASSERT_TRUE(Host({"mount", "-t", "tmpfs", "-o", "size=1m", "none", host}));
  std::shared_ptr<Sandbox> sandbox = Make({.image = "test", .mounts = {{host, "/mnt/small"}}});
  ASSERT_NE(sandbox, nullptr);
  ASSERT_TRUE(sandbox->WriteFile("/mnt/small/f", "old").ok());
  const absl::Status status = sandbox->WriteFile("/mnt/small/f", std::string(4 << 20, 'x'));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(sandbox->ReadFile("/mnt/small/f")->bytes, "old");
  EXPECT_TRUE(provider_->Remove(sandbox->id()).ok());
  EXPECT_TRUE(Host({"umount", host}));
}

TEST_F(ContainerTest, HundredSandboxesByEightCallersAndNothingIsLeft) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t, &failures] {
      for (int i = t; i < 100; i += 8) {
        absl::StatusOr<Created> created = provider_->Create({.image = "test"});
        if (!created.ok()) {
          ADD_FAILURE() << created.status();
          ++failures;
          continue;
        }
        absl::StatusOr<ExecResult> result = created->sandbox->Execute(Command::Argv({"true"}));
        if (!result.ok() || !provider_->Remove(created->sandbox->id()).ok()) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 0);
  ExpectNothingLeft();
}

TEST_F(ContainerTest, SandboxOutlivesTheProcessThatMadeIt) {
  const std::string id = RandomHex(8);
  const pid_t child = fork();
  if (child == 0) {
    const std::unique_ptr<SandboxProvider> own = OpenProvider({});
    const absl::StatusOr<Created> created = own->Create({.image = "test", .id = id});
    if (created.ok()) created->sandbox->WriteFile("left", "behind").IgnoreError();
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = provider_->Get(id);
  ASSERT_TRUE(sandbox.ok()) << sandbox.status();
  EXPECT_EQ((*sandbox)->ReadFile("left")->bytes, "behind");
  EXPECT_TRUE(provider_->Remove(id).ok());
  ExpectNothingLeft();
}

TEST_F(ContainerTest, CreatorKilledAtAnyStepLeavesWhatCanBeFoundAndRemoved) {
  for (const char* fatal :
       {"record", "image", "overlay", "cgroup", "config", "runtime", "confirm"}) {
    const std::string id = RandomHex(8);
    const pid_t child = fork();
    if (child == 0) {
      const std::unique_ptr<SandboxProvider> own =
          OpenProvider({.before_step = [fatal](absl::string_view step) {
            if (step == fatal) kill(getpid(), SIGKILL);
          }});
      own->Create({.image = "test", .id = id}).status().IgnoreError();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << fatal;
    const std::vector<SandboxInfo> all = *provider_->List();
    ASSERT_EQ(all.size(), 1u) << fatal;
    EXPECT_EQ(all[0].id, id);
    EXPECT_EQ(all[0].state, SandboxState::kDead) << fatal;
    EXPECT_FALSE(provider_->Get(id).ok());
    EXPECT_TRUE(provider_->Remove(id).ok()) << fatal;
    ExpectNothingLeft();
  }
}

TEST_F(ContainerTest, AgentKilledFromOutsideIsTerminalAndItsSandboxDead) {
  std::shared_ptr<Sandbox> sandbox = Make();
  ASSERT_NE(sandbox, nullptr);
  const MachineRecord record =
      *ReadRecord(folder_.path() + "/state/machines/" + sandbox->id() + "/machine.json");
  ASSERT_EQ(kill(record.init.pid, SIGKILL), 0);
  // Until the process is gone its host cannot know: a broken connection alone may be tried again.
  const Deadline gone = Deadline::After(absl::Seconds(20));
  while (IsRunning(record.init) && !gone.Expired()) {
  }
  EXPECT_TRUE(IsTerminal(sandbox->Execute(Command::Argv({"true"})).status()));
  EXPECT_EQ(provider_->List()->at(0).state, SandboxState::kDead);
  EXPECT_TRUE(IsTerminal(provider_->Get(sandbox->id()).status()));
  EXPECT_TRUE(provider_->Remove(sandbox->id()).ok());
  ExpectNothingLeft();
}

TEST_F(ContainerTest, RecordOfAnotherBootIsADeadMachine) {
  std::shared_ptr<Sandbox> sandbox = Make();
  ASSERT_NE(sandbox, nullptr);
  const std::string path = folder_.path() + "/state/machines/" + sandbox->id() + "/machine.json";
  const MachineRecord good = *ReadRecord(path);
  MachineRecord record = good;
  record.init.boot_id = "00000000-0000-0000-0000-000000000000";
  ASSERT_TRUE(WriteRecord(path, record).ok());
  EXPECT_EQ(provider_->List()->at(0).state, SandboxState::kDead);
  // Nobody is killed on the word of a record whose process is not the one it means.
  record.init = ThisProcess();
  record.init.start_time += 1;
  ASSERT_TRUE(WriteRecord(path, record).ok());
  EXPECT_EQ(provider_->List()->at(0).state, SandboxState::kDead);
  EXPECT_TRUE(provider_->Remove(sandbox->id()).ok()) << "its control group finds what is left";
  EXPECT_FALSE(IsRunning(good.init));
  ExpectNothingLeft();
}

TEST_F(ContainerTest, RuncWorksToo) {
  const std::unique_ptr<SandboxProvider> runc = OpenProvider({.runtime = "runc"});
  absl::StatusOr<Created> created =
      runc->Create({.image = "test", .limits = {.memory_bytes = 64 << 20}});
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(Run(*created->sandbox, "grep Seccomp: /proc/self/status; unshare -U true 2>&1"),
            "Seccomp:\t2\nunshare: unshare(0x10000000): Operation not permitted\n");
  EXPECT_EQ(created->sandbox->Stats()->memory_limit_bytes, 64 << 20);
  EXPECT_TRUE(runc->Remove(created->sandbox->id()).ok());
  for (const char* hierarchy : {"memory", "freezer", "devices", "systemd", "unified"}) {
    EXPECT_FALSE(
        FileExists(std::string("/sys/fs/cgroup/") + hierarchy + "/cubby/" + created->sandbox->id()))
        << hierarchy;
  }
  ExpectNothingLeft();
}

TEST_F(ContainerTest, TwoRemovalsAtOnceBothEnd) {
  for (int i = 0; i < 5; ++i) {
    std::shared_ptr<Sandbox> sandbox = Make();
    ASSERT_NE(sandbox, nullptr);
    const auto remove = [&] {
      const absl::Status status = provider_->Remove(sandbox->id());
      EXPECT_TRUE(status.ok() || absl::IsNotFound(status)) << status;
    };
    std::thread other(remove);
    remove();
    other.join();
  }
  ExpectNothingLeft();
}

}  // namespace
}  // namespace cubby
