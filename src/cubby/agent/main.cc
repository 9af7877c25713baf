// cubby-agent: see agent.h.
//
//   cubby-agent --listen-fd N      serves a listening socket that it inherits
//   cubby-agent --connection-fd N  serves one connection, and ends with it
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/numbers.h"
#include "cubby/agent/agent.h"

namespace cubby::agent {
namespace {

// The agent keeps 0, 1 and 2 open whatever it was given, so that no other descriptor ever has
// these numbers; supervisor.cc relies on it.
void OpenStandardDescriptors() {
  for (int fd = 0; fd < 3; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // An image without /dev has nothing to open by name; the root folder always exists.
    if (open("/dev/null", O_RDWR) < 0) (void)!open("/", O_PATH);
  }
}

// Small and steady: one arena, and what a bulk transfer used goes back to the kernel.
void TuneMemory() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  mallopt(M_TRIM_THRESHOLD, 256 << 10);
}

int Fail(const absl::Status& status) {
  fprintf(stderr, "cubby-agent: %s\n", std::string(status.message()).c_str());
  return 1;
}

int Main(int argc, char** argv) {
  OpenStandardDescriptors();
  TuneMemory();
  // Whatever the runtime had ignored; commands must not inherit it.
  for (int number = 1; number < SIGRTMIN; ++number) signal(number, SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  // Orphans of commands whose supervisor was killed come to us, also where we are not PID 1.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  umask(0022);
  int fd = -1;
  if (argc != 3 || !absl::SimpleAtoi(argv[2], &fd) || fd < 0 ||
      (strcmp(argv[1], "--listen-fd") != 0 && strcmp(argv[1], "--connection-fd") != 0)) {
    fprintf(stderr, "usage: cubby-agent --listen-fd N | --connection-fd N\n");
    return 2;
  }
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    fprintf(stderr, "cubby-agent: descriptor %d is not open\n", fd);
    return 2;
  }
  EventLoop loop;
  absl::StatusOr<std::unique_ptr<Agent>> agent = Agent::Create(&loop, "/");
  if (!agent.ok()) return Fail(agent.status());
  const absl::Status status = strcmp(argv[1], "--listen-fd") == 0
                                  ? (*agent)->Listen(unique_fd(fd))
                                  : (*agent)->ServeOne(unique_fd(fd));
  if (!status.ok()) return Fail(status);
  loop.Run();
  // Not the destructors: coroutines of open requests still refer to all of it.
  fflush(nullptr);
  _exit(0);
}

}  // namespace
}  // namespace cubby::agent

int main(int argc, char** argv) { return cubby::agent::Main(argc, argv); }
