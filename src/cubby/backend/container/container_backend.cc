#include "cubby/backend/container/container_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/backend/container/oci_config.h"
#include "cubby/backend/container/overlay.h"
#include "cubby/base/file.h"
#include "cubby/base/ids.h"
#include "cubby/base/log.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr int64_t kMinMemoryBytes = 16 << 20;
// A killed process that does not end is stuck in the kernel.
constexpr absl::Duration kKillDeadline = absl::Seconds(30);
constexpr size_t kConsoleBytes = 64 << 10;
constexpr int kSendBufferBytes = 1 << 20;

absl::Status NoSuchSandbox(const std::string& id) {
  return absl::NotFoundError(absl::StrCat("no sandbox ", id, "; `cubby ps` lists what is there"));
}

// Socket addresses hold 107 bytes, state folders may be deeper: the folder is named by descriptor.
absl::StatusOr<sockaddr_un> SocketAddress(int directory, const std::string& socket) {
  sockaddr_un address{.sun_family = AF_UNIX};
  const std::string path = absl::StrCat("/proc/self/fd/", directory, "/", Basename(socket));
  if (path.size() >= sizeof(address.sun_path)) return absl::InternalError("socket name too long");
  memcpy(address.sun_path, path.data(), path.size());
  return address;
}

absl::StatusOr<unique_fd> OpenFolder(const std::string& path) {
  unique_fd fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, "open", path);
  return fd;
}

// The agent inherits the listening socket. Its name lies in the machine's folder, which the
// sandbox does not see: nothing in there can put another socket in its place.
absl::StatusOr<unique_fd> Listen(const MachinePaths& paths) {
  CUBBY_ASSIGN_OR_RETURN(const unique_fd folder, OpenFolder(paths.directory));
  CUBBY_ASSIGN_OR_RETURN(const sockaddr_un address, SocketAddress(folder.get(), paths.socket()));
  unique_fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoError(errno, "socket");
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(fd.get(), 128) != 0) {
    return ErrnoError(errno, "listen on", paths.socket());
  }
  return fd;
}

absl::Status CheckSpec(const SandboxSpec& spec) {
  if (!IsSandboxId(spec.id)) {
    return absl::InvalidArgumentError(
        absl::StrCat("sandbox id \"", spec.id, "\": must be 16 lower-case hex digits"));
  }
  if (spec.limits.memory_bytes < kMinMemoryBytes) {
    return absl::InvalidArgumentError(absl::StrCat("memory limit of ", spec.limits.memory_bytes,
                                                   " bytes: at least ", kMinMemoryBytes,
                                                   " are needed"));
  }
  if (!(spec.limits.cpus >= 0.01 && spec.limits.cpus <= 4096)) {
    return absl::InvalidArgumentError("cpus: must be between 0.01 and 4096");
  }
  if (spec.limits.processes < 2) {
    return absl::InvalidArgumentError("processes: at least 2 are needed");
  }
  return absl::OkStatus();
}

SandboxState TrueState(const MachineRecord& record) {
  if (record.info.state == SandboxState::kRunning) {
    return IsRunning(record.init) ? SandboxState::kRunning : SandboxState::kDead;
  }
  return IsRunning(record.creator) ? SandboxState::kCreating : SandboxState::kDead;
}

absl::Status KillAndWait(const ProcessIdentity& process) {
  absl::StatusOr<unique_fd> pidfd = OpenProcess(process);
  if (!pidfd.ok()) return absl::OkStatus();  // it has ended
  syscall(SYS_pidfd_send_signal, pidfd->get(), SIGKILL, nullptr, 0);
  const Deadline deadline = Deadline::After(kKillDeadline);
  pollfd poller{.fd = pidfd->get(), .events = POLLIN};
  int ready;
  do {
    ready = poll(&poller, 1, deadline.PollTimeoutMs());
  } while (ready < 0 && errno == EINTR);
  if (ready > 0) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("process ", process.pid, " was killed and does not end"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ContainerBackend>> ContainerBackend::Open(const StateDir& state,
                                                                         Options options) {
  CUBBY_ASSIGN_OR_RETURN(OciRuntime runtime, OciRuntime::Find(options.runtime, state));
  return std::unique_ptr<ContainerBackend>(
      new ContainerBackend(state, std::move(options), std::move(runtime)));
}

ContainerBackend::ContainerBackend(const StateDir& state, Options options, OciRuntime runtime)
    : state_(state),
      options_(std::move(options)),
      runtime_(std::move(runtime)),
      cgroups_(options_.cgroup_root) {}

MachinePaths ContainerBackend::Paths(const std::string& id) const {
  return {.directory = state_.machine(id)};
}

absl::StatusOr<MachineInfo> ContainerBackend::Create(const SandboxSpec& spec, Deadline deadline,
                                                     std::vector<Stage>* stages) {
  CUBBY_RETURN_IF_ERROR(CheckSpec(spec));
  if (geteuid() != 0) {
    return absl::FailedPreconditionError(
        "container sandboxes need root (to mount, and to set limits); run as root");
  }
  const MachinePaths paths = Paths(spec.id);
  if (mkdir(paths.directory.c_str(), 0700) != 0) {
    if (errno != EEXIST) return ErrnoError(errno, "mkdir", paths.directory);
    return absl::AlreadyExistsError(absl::StrCat("sandbox ", spec.id, " exists"));
  }
  // Whoever kills the machine waits until it is made or undone.
  CUBBY_ASSIGN_OR_RETURN(const FileLock lock, FileLock::AcquireDirectory(paths.directory));
  MachineRecord record;
  record.info = {.id = spec.id,
                 .image = spec.image,
                 .state = SandboxState::kCreating,
                 .created = absl::Now(),
                 .limits = spec.limits,
                 .labels = spec.labels};
  record.creator = ThisProcess();
  record.runtime = runtime_.path();
  const absl::Status status = Build(spec, paths, deadline, &record, stages);
  if (status.ok()) return record.info;
  if (absl::Status undone = Destroy(spec.id, paths); !undone.ok()) {
    Log(Severity::kWarning, absl::StrCat("sandbox ", spec.id,
                                         " could not be made and is still listed, since not all of "
                                         "it could be removed: ",
                                         undone.message()));
  }
  return status;
}

absl::Status ContainerBackend::Build(const SandboxSpec& spec, const MachinePaths& paths,
                                     Deadline deadline, MachineRecord* record,
                                     std::vector<Stage>* stages) {
  absl::Duration since = MonotonicNow();
  const char* step_name = nullptr;
  const auto step = [&](const char* next) {
    const absl::Duration now = MonotonicNow();
    if (step_name != nullptr) stages->push_back({.name = step_name, .duration = now - since});
    since = now;
    step_name = next;
    if (next != nullptr && options_.before_step) options_.before_step(next);
  };

  step("record");
  CUBBY_RETURN_IF_ERROR(WriteRecord(paths.record(), *record));

  step("image");
  CUBBY_ASSIGN_OR_RETURN(const ImageRootfs image, options_.rootfs(spec.image));
  record->info.image_digest = image.digest;
  record->info.defaults = {.environment = image.config.environment,
                           .user = spec.user.empty() ? image.config.user : spec.user};
  record->info.layers = image.layer_digests;
  CUBBY_RETURN_IF_ERROR(WriteRecord(paths.record(), *record));

  step("overlay");
  CUBBY_RETURN_IF_ERROR(MountOverlay(image.layer_folders, paths));

  step("cgroup");
  CUBBY_RETURN_IF_ERROR(cgroups_.Create(spec.id, spec.limits));

  step("config");
  CUBBY_ASSIGN_OR_RETURN(const std::string config,
                         MakeOciConfig(spec, {.agent_path = options_.agent_path,
                                              .rootfs = paths.rootfs(),
                                              .cgroups_path = runtime_.CgroupsPath(spec.id),
                                              .seccomp = runtime_.seccomp()}));
  CUBBY_RETURN_IF_ERROR(ReplaceFile(paths.runtime_config(), config));

  step("runtime");
  CUBBY_ASSIGN_OR_RETURN(const unique_fd listener, Listen(paths));
  CUBBY_ASSIGN_OR_RETURN(const pid_t pid,
                         runtime_.Run(spec.id, paths, cgroups_, listener.get(), deadline));

  step("confirm");
  absl::StatusOr<ProcessIdentity> init = IdentifyProcess(pid);
  if (!init.ok()) {
    return MakeError(
        absl::StatusCode::kUnavailable,
        absl::StrCat("the agent ended at once: ", ConsoleTail(paths.console(), kConsoleBytes)));
  }
  record->init = *std::move(init);
  record->info.state = SandboxState::kRunning;
  CUBBY_RETURN_IF_ERROR(WriteRecord(paths.record(), *record));
  step(nullptr);
  return absl::OkStatus();
}

absl::StatusOr<unique_fd> ContainerBackend::Connect(const std::string& id) {
  const MachinePaths paths = Paths(id);
  absl::StatusOr<MachineInfo> info = Inspect(id);
  const bool gone = absl::IsNotFound(info.status());
  if (!gone && !info.ok()) return info.status();
  if (gone || info->state != SandboxState::kRunning) {
    return MakeError(absl::StatusCode::kUnavailable,
                     absl::StrCat("sandbox ", id, gone ? " is gone" : " is not running"),
                     {.fate = Fate::kTerminal});
  }
  CUBBY_ASSIGN_OR_RETURN(const unique_fd folder, OpenFolder(paths.directory));
  CUBBY_ASSIGN_OR_RETURN(const sockaddr_un address, SocketAddress(folder.get(), paths.socket()));
  unique_fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoError(errno, "socket");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    // Nobody listens although PID 1 is there: the agent has lost its socket and will not get it
    // back.
    return MakeError(absl::StatusCode::kUnavailable,
                     absl::StrCat("sandbox ", id, ": its agent does not listen"),
                     {.error_number = errno, .fate = Fate::kTerminal});
  }
  // Whole frames of a bulk transfer should fit; a host that does not allow it is only slower.
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUFFORCE, &kSendBufferBytes, sizeof(kSendBufferBytes));
  return fd;
}

absl::StatusOr<MachineInfo> ContainerBackend::Inspect(const std::string& id) {
  if (!IsSandboxId(id)) return NoSuchSandbox(id);
  const MachinePaths paths = Paths(id);
  absl::StatusOr<MachineRecord> record = ReadRecord(paths.record());
  if (record.ok()) {
    record->info.id = id;
    record->info.state = TrueState(*record);
    return record->info;
  }
  if (!FileExists(paths.directory)) return NoSuchSandbox(id);
  // Its creator was killed before the record was whole.
  return MachineInfo{.id = id, .state = SandboxState::kDead};
}

absl::StatusOr<std::vector<MachineInfo>> ContainerBackend::List() {
  CUBBY_ASSIGN_OR_RETURN(const std::vector<std::string> ids, ListDirectory(state_.machines()));
  std::vector<MachineInfo> machines;
  for (const std::string& id : ids) {
    absl::StatusOr<MachineInfo> info = Inspect(id);
    if (info.ok()) machines.push_back(*std::move(info));  // else it has gone meanwhile
  }
  return machines;
}

absl::Status ContainerBackend::Kill(const std::string& id) {
  if (!IsSandboxId(id)) return NoSuchSandbox(id);
  const MachinePaths paths = Paths(id);
  absl::StatusOr<FileLock> lock = FileLock::AcquireDirectory(paths.directory);
  // Removed while we waited for it, or never there.
  if (absl::IsNotFound(lock.status()) || (lock.ok() && !FileExists(paths.directory))) {
    return NoSuchSandbox(id);
  }
  CUBBY_RETURN_IF_ERROR(lock.status());
  return Destroy(id, paths);
}

absl::Status ContainerBackend::Destroy(const std::string& id, const MachinePaths& paths) {
  // Its PID 1 takes every other process of the container along.
  if (absl::StatusOr<MachineRecord> record = ReadRecord(paths.record()); record.ok()) {
    CUBBY_RETURN_IF_ERROR(KillAndWait(record->init));
  }
  // What has no record (a runtime that was interrupted) is found by its group.
  CUBBY_RETURN_IF_ERROR(cgroups_.Remove(id, Deadline::After(kKillDeadline)));
  CUBBY_RETURN_IF_ERROR(UnmountAll(paths.rootfs()));
  CUBBY_RETURN_IF_ERROR(runtime_.Forget(id));
  // The record goes last: until then the machine is listed, and can be removed again.
  CUBBY_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(paths.directory));
  for (const std::string& name : names) {
    const std::string path = JoinPath(paths.directory, name);
    if (path != paths.record()) CUBBY_RETURN_IF_ERROR(RemoveTree(path));
  }
  return RemoveTree(paths.directory);
}

absl::StatusOr<MachineStats> ContainerBackend::Stats(const std::string& id) {
  CUBBY_RETURN_IF_ERROR(Inspect(id).status());
  return cgroups_.Stats(id);
}

absl::StatusOr<std::string> ContainerBackend::ConsoleLog(const std::string& id) {
  CUBBY_RETURN_IF_ERROR(Inspect(id).status());
  return ConsoleTail(Paths(id).console(), kConsoleBytes);
}

}  // namespace cubby
