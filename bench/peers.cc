#include "peers.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "cubby/backend/container/cgroup.h"
#include "cubby/backend/container/oci_config.h"
#include "cubby/base/subprocess.h"
#include "nlohmann/json.hpp"

extern char** environ;

namespace cubby::bench {

RuntimePeer::RuntimePeer(const Workshop& workshop, const std::string& runtime)
    : bundle_(absl::StrCat(workshop.folder(), "/peer-", runtime)),
      state_(absl::StrCat(workshop.folder(), "/state-", runtime)),
      hidden_(CgroupHost("/sys/fs/cgroup").hybrid_folder()) {
  const absl::StatusOr<std::string> path = FindProgram(runtime);
  if (!path.ok()) return;
  runtime_ = *path;
  const bool is_crun = runtime == "crun";
  absl::StatusOr<std::string> config = MakeOciConfig(
      {.image = "bench"}, {.agent_path = workshop.agent(),
                           .rootfs = workshop.rootfs(),
                           .seccomp = is_crun ? SeccompForm::kCompiled : SeccompForm::kRules});
  if (!config.ok() || !MakeDirectories(bundle_).ok()) return;
  nlohmann::json json = nlohmann::json::parse(*config);
  json["process"]["args"] = {"/bin/true"};
  if (!WriteFileAtomically(bundle_ + "/config.json", json.dump()).ok()) return;
  available_ = true;
}

void RuntimePeer::RunTrue() {
  SpawnOptions options{.argv = {runtime_, "--root", state_},
                       .environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
                       .descriptors = {{2, 2}}};
  if (runtime_.find("crun") != std::string::npos) {
    options.argv.emplace_back("--cgroup-manager=disabled");
    if (!hidden_.empty()) options.hidden_folders = {hidden_};
  }
  for (const std::string& word :
       {std::string("run"), std::string("--bundle"), bundle_, absl::StrCat("peer", next_++)}) {
    options.argv.push_back(word);
  }
  absl::StatusOr<Subprocess> process = Subprocess::Spawn(options);
  if (!process.ok()) Die(std::string(process.status().message()));
  const absl::StatusOr<ExitStatus> ended = process->Wait(Deadline::After(absl::Seconds(30)));
  if (!ended.ok() || !ended->success()) Die(absl::StrCat(runtime_, " run of true failed"));
}

void SpawnTrue(const Workshop& workshop) {
  const std::string program = workshop.rootfs() + "/bin/true";
  char name[] = "true";
  char* const argv[] = {name, nullptr};
  pid_t pid = 0;
  if (posix_spawn(&pid, program.c_str(), nullptr, nullptr, argv, environ) != 0) {
    Die("posix_spawn failed");
  }
  waitpid(pid, nullptr, 0);
}

bool DockerAnswers() {
  const absl::StatusOr<CommandOutput> version =
      RunCommand({.argv = {"docker", "version", "--format", "{{.Server.Version}}"},
                  .environment = {"PATH=/usr/bin:/bin"}},
                 Deadline::After(absl::Seconds(5)));
  return version.ok() && version->status.success();
}

}  // namespace cubby::bench
