#include "cubby/agent/agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/times.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/agent/user.h"
#include "cubby/agent/watch.h"
#include "cubby/base/deadline.h"
#include "cubby/base/ids.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby::agent {
namespace {

constexpr size_t kMaxConnections = 1024;

uint64_t ProcessCount() {
  uint64_t count = 0;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return 0;
  while (const dirent* entry = readdir(proc)) {
    count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? 1 : 0;
  }
  closedir(proc);
  return count;
}

uint64_t ResidentBytes() {
  const std::string statm = ReadKernelFile("/proc/self/statm");
  const std::vector<std::string> fields = absl::StrSplit(statm, ' ');
  uint64_t pages = 0;
  if (fields.size() < 2 || !absl::SimpleAtoi(fields[1], &pages)) return 0;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Processor time of the agent and of everything that has ended below it.
uint64_t CpuMicroseconds() {
  tms times_used{};
  times(&times_used);
  const auto ticks = static_cast<uint64_t>(times_used.tms_utime + times_used.tms_stime +
                                           times_used.tms_cutime + times_used.tms_cstime);
  return ticks * 1000000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Agent>> Agent::Create(EventLoop* loop, const std::string& root) {
  CUBBY_ASSIGN_OR_RETURN(GuestFiles files, GuestFiles::Open(root));
  std::unique_ptr<Agent> agent(new Agent(loop, std::move(files)));
  CUBBY_RETURN_IF_ERROR(agent->executions_.Start());
  return agent;
}

Agent::Agent(EventLoop* loop, GuestFiles files)
    : loop_(loop),
      files_in_root_(std::move(files)),
      memory_("/sys/fs/cgroup"),
      executions_(loop, &files_in_root_, &settings_, &memory_),
      files_(&files_in_root_, &settings_),
      searches_(loop, &files_in_root_, &settings_),
      tunnels_(loop),
      started_at_(MonotonicNow()) {
  hello_.set_version(wire::kProtocolVersion);
  hello_.set_software(absl::StrCat("cubby-agent ", CUBBY_VERSION));
  hello_.set_instance(RandomHex(16));
  hello_.set_max_streams(wire::kMaxStreams);
}

absl::Status Agent::Listen(unique_fd listener) {
  listener_ = std::move(listener);
  const int flags = fcntl(listener_.get(), F_GETFL);
  if (flags < 0 || fcntl(listener_.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return ErrnoError(errno, "fcntl on the listening descriptor");
  }
  return loop_->Watch(listener_.get(), EPOLLIN, [this](uint32_t) { AcceptAll(); });
}

void Agent::AcceptAll() {
  while (true) {
    unique_fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) return;
    // Beyond the bound the client sees the connection close.
    if (connections_.size() >= kMaxConnections) continue;
    AddConnection(std::move(fd), nullptr).IgnoreError();
  }
}

absl::Status Agent::ServeOne(unique_fd connection) {
  const int flags = fcntl(connection.get(), F_GETFL);
  if (flags < 0 || fcntl(connection.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return ErrnoError(errno, "fcntl on the connection");
  }
  return AddConnection(std::move(connection), [this] { loop_->Stop(); });
}

absl::Status Agent::AddConnection(unique_fd fd, std::function<void()> on_closed) {
  auto slot = std::make_shared<std::shared_ptr<Connection>>();
  auto connection = std::make_shared<Connection>(
      loop_, std::move(fd), hello_,
      [this](StreamPtr stream, wire::Request request) {
        Run(std::move(stream), std::move(request));
      },
      [this, slot, on_closed = std::move(on_closed)] {
        connections_.erase(*slot);
        slot->reset();
        if (on_closed) on_closed();
      });
  *slot = connection;
  connections_.insert(connection);
  return connection->Start();
}

Detached Agent::Run(StreamPtr stream, wire::Request request) {
  const absl::Status status = co_await Dispatch(stream, std::move(request));
  stream->End(status);
}

Task<absl::Status> Agent::Dispatch(StreamPtr stream, wire::Request request) {
  using Call = wire::Request::CallCase;
  switch (request.call_case()) {
    case Call::kConfigure:
      co_return Configure(request.configure());
    case Call::kExec:
      co_return co_await executions_.Exec(stream, std::move(*request.mutable_exec()));
    case Call::kAttach:
      co_return co_await executions_.Attach(stream, std::move(*request.mutable_attach()));
    case Call::kListExecutions:
      co_return co_await executions_.List(stream);
    case Call::kReadFile:
      co_return co_await files_.Read(stream, std::move(*request.mutable_read_file()));
    case Call::kWriteFile:
      co_return co_await files_.Write(stream, std::move(*request.mutable_write_file()));
    case Call::kStat:
      co_return co_await files_.Stat(stream, std::move(*request.mutable_stat()));
    case Call::kList:
      co_return co_await searches_.List(stream, std::move(*request.mutable_list()));
    case Call::kGlob:
      co_return co_await searches_.Glob(stream, std::move(*request.mutable_glob()));
    case Call::kGrep:
      co_return co_await searches_.Grep(stream, std::move(*request.mutable_grep()));
    case Call::kMakeDir:
      co_return files_.MakeDir(request.make_dir());
    case Call::kRemove:
      co_return co_await files_.Remove(stream, std::move(*request.mutable_remove()));
    case Call::kRename:
      co_return files_.Rename(request.rename());
    case Call::kWatch: {
      absl::StatusOr<std::string> path =
          NormalizePath(request.watch().path(), settings_.working_directory);
      if (!path.ok()) co_return path.status();
      co_return co_await WatchFolder(loop_, &files_in_root_, stream, *std::move(path));
    }
    case Call::kTunnelConnect:
      co_return co_await tunnels_.Connect(stream, std::move(*request.mutable_tunnel_connect()));
    case Call::kTunnelListen:
      co_return co_await tunnels_.Listen(stream, std::move(*request.mutable_tunnel_listen()));
    case Call::kTunnelAccept:
      co_return co_await tunnels_.Accept(stream, request.tunnel_accept());
    case Call::kMetrics:
      SendMetrics(stream.get());
      co_return absl::OkStatus();
    case Call::kShutdown:
      executions_.KillAll();
      loop_->BeforeSleep([this] { loop_->Stop(); });
      co_return absl::OkStatus();
    case Call::CALL_NOT_SET:
      break;
  }
  co_return absl::UnimplementedError(
      "this agent does not know the request; it is older than its caller");
}

absl::Status Agent::Configure(const wire::Configure& request) {
  Settings settings;
  for (const wire::Variable& variable : request.environment()) {
    settings.environment[variable.key()] = variable.value();
  }
  CUBBY_RETURN_IF_ERROR(CheckEnvironment(settings.environment));
  settings.user = request.user();
  CUBBY_ASSIGN_OR_RETURN(
      const User user, FindUser(settings.user, files_in_root_.ReadSmall("/etc/passwd").value_or(""),
                                files_in_root_.ReadSmall("/etc/group").value_or("")));
  settings.owner = {.uid = user.uid, .gid = user.gid};
  settings.found_user = user;
  CUBBY_ASSIGN_OR_RETURN(
      settings.working_directory,
      NormalizePath(request.working_directory().empty() ? "/" : request.working_directory(), "/"));
  for (const std::string& folder : request.folders()) {
    CUBBY_ASSIGN_OR_RETURN(const std::string path, NormalizePath(folder, "/"));
    CUBBY_RETURN_IF_ERROR(files_in_root_.MakeDirectories(path, settings.owner).status());
  }
  settings_ = std::move(settings);
  return absl::OkStatus();
}

void Agent::SendMetrics(Stream* stream) const {
  wire::Event event;
  wire::MetricsReport* report = event.mutable_metrics();
  report->set_memory(memory_.Usage());
  report->set_memory_limit(memory_.Limit());
  report->set_memory_peak(memory_.Peak());
  report->set_cpu_us(CpuMicroseconds());
  report->set_processes(ProcessCount());
  report->set_agent_memory(ResidentBytes());
  report->set_oom_kills(memory_.OutOfMemoryKills());
  report->set_uptime_ms(
      static_cast<uint64_t>(absl::ToInt64Milliseconds(MonotonicNow() - started_at_)));
  stream->SendEvent(event);
}

}  // namespace cubby::agent
