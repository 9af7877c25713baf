#include "workshop.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "cubby/backend/container/container_backend.h"
#include "cubby/backend/container/record.h"
#include "cubby/base/agent_program.h"
#include "cubby/base/deadline.h"
#include "cubby/base/subprocess.h"
#include "cubby/pool/local_provider.h"

namespace cubby::bench {

void Die(const std::string& what) {
  fprintf(stderr, "cubby-bench: %s\n", what.c_str());
  exit(1);
}

absl::Duration TimeOf(const std::function<void()>& work) {
  const absl::Duration since = MonotonicNow();
  work();
  return MonotonicNow() - since;
}

double Median(std::vector<double> values) {
  if (values.empty()) Die("nothing was measured");
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

Workshop::Workshop() : folder_(*TemporaryDirectory::Create("/var/tmp", "cubby-bench-")) {
  chmod(folder().c_str(), 0755);
  const absl::StatusOr<CommandOutput> made = RunCommand(
      {.argv =
           {"sh", "-c",
            "mkdir -p bin tmp && cp /bin/busybox bin && for a in true sh sleep; do ln -s busybox "
            "bin/$a; done"},
       .environment = {"PATH=/usr/bin:/bin"},
       .working_directory = (MakeDirectories(rootfs(), 0755).IgnoreError(), rootfs())},
      Deadline::After(absl::Seconds(20)));
  if (!made.ok() || !made->status.success()) Die("cannot make a root file system of busybox");
  const absl::StatusOr<StateDir> state = StateDir::Open(folder() + "/state");
  absl::StatusOr<std::string> agent = FindAgentProgram("");
  if (!state.ok() || !agent.ok()) Die("no state directory or no agent");
  agent_ = *std::move(agent);
  absl::StatusOr<std::unique_ptr<ContainerBackend>> backend =
      ContainerBackend::Open(*state, {.agent_path = agent_, .rootfs = [this](const std::string&) {
                                        return ImageRootfs{.digest = "sha256:bench",
                                                           .layer_digests = {"sha256:layer"},
                                                           .layer_folders = {rootfs()}};
                                      }});
  if (!backend.ok()) Die(std::string(backend.status().message()));
  provider_ = std::make_unique<LocalProvider>(*std::move(backend));
}

Workshop::~Workshop() {
  const absl::StatusOr<std::vector<SandboxInfo>> left = provider_->List();
  if (!left.ok()) return;
  for (const SandboxInfo& info : *left) provider_->Remove(info.id).IgnoreError();
}

std::shared_ptr<Sandbox> Workshop::Make(std::vector<Mount> mounts) {
  absl::StatusOr<Created> created =
      provider_->Create({.image = "bench", .mounts = std::move(mounts)});
  if (!created.ok()) Die(std::string(created.status().message()));
  return created->sandbox;
}

void Workshop::Remove(const std::shared_ptr<Sandbox>& sandbox) {
  const absl::Status status = provider_->Remove(sandbox->id());
  if (!status.ok()) Die(std::string(status.message()));
}

int Workshop::AgentPid(const std::string& id) const {
  const absl::StatusOr<MachineRecord> record =
      ReadRecord(folder() + "/state/machines/" + id + "/machine.json");
  if (!record.ok()) Die(std::string(record.status().message()));
  return record->init.pid;
}

}  // namespace cubby::bench
