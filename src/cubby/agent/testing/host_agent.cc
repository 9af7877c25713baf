#include "cubby/agent/testing/host_agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <utility>

#include "cubby/status.h"

namespace cubby::agent {
namespace {

[[noreturn]] void Die(const char* what) {
  fprintf(stderr, "host agent for tests: %s: %s\n", what, strerror(errno));
  abort();
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX};
  if (path.size() >= sizeof(address.sun_path)) Die("socket path too long");
  memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace

std::unique_ptr<HostAgent> HostAgent::Start() {
  absl::StatusOr<TemporaryDirectory> folder = TemporaryDirectory::Create("/tmp", "cubby-agent-");
  if (!folder.ok()) Die("temporary folder");
  std::string path = folder->path() + "/agent.sock";
  unique_fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = AddressOf(path);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener.get(), 64) != 0) {
    Die("listen");
  }
  // The namespace dies with unshare(1), which dies with its owner, also when a test crashes.
  absl::StatusOr<Subprocess> process = Subprocess::Spawn(
      {.argv = {"setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child",
                "--mount-proc", CUBBY_AGENT_PROGRAM, "--listen-fd", "3"},
       .environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
       .descriptors = {{listener.get(), 3}, {2, 2}}});
  if (!process.ok()) Die("unshare");
  return std::unique_ptr<HostAgent>(new HostAgent(
      *std::move(folder), std::make_unique<Subprocess>(*std::move(process)), std::move(path)));
}

absl::StatusOr<unique_fd> HostAgent::Connect() {
  unique_fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = AddressOf(socket_);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return MakeError(absl::StatusCode::kUnavailable, "the agent is gone",
                     {.error_number = errno, .fate = Fate::kTerminal});
  }
  return fd;
}

}  // namespace cubby::agent
