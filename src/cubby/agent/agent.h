// agent/: the program inside every sandbox.
//
// It listens on one descriptor, serves any number of clients with the protocol of wire/, runs
// commands and works with files. It may use base/, wire/ and search/, and must need nothing of the
// image that it runs in: no shell, no C library, no /tmp, no name service.
//
// One thread runs everything (event_loop.h); a request is a coroutine (task.h).
#ifndef CUBBY_AGENT_AGENT_H_
#define CUBBY_AGENT_AGENT_H_

#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cubby/agent/connection.h"
#include "cubby/agent/event_loop.h"
#include "cubby/agent/executions.h"
#include "cubby/agent/files.h"
#include "cubby/agent/guest_files.h"
#include "cubby/agent/memory_cgroup.h"
#include "cubby/agent/searches.h"
#include "cubby/agent/settings.h"
#include "cubby/agent/tunnel.h"
#include "cubby/base/unique_fd.h"

namespace cubby::agent {

class Agent {
 public:
  static absl::StatusOr<std::unique_ptr<Agent>> Create(EventLoop* loop, const std::string& root);

  // Serves every connection that comes in on a listening socket.
  absl::Status Listen(unique_fd listener);
  // Serves one connection; the loop stops at its end.
  absl::Status ServeOne(unique_fd connection);

 private:
  Agent(EventLoop* loop, GuestFiles files);

  void AcceptAll();
  absl::Status AddConnection(unique_fd fd, std::function<void()> on_closed);
  Detached Run(StreamPtr stream, wire::Request request);
  Task<absl::Status> Dispatch(StreamPtr stream, wire::Request request);
  absl::Status Configure(const wire::Configure& request);
  void SendMetrics(Stream* stream) const;

  EventLoop* loop_;
  GuestFiles files_in_root_;
  Settings settings_;
  MemoryCgroup memory_;
  Executions executions_;
  Files files_;
  Searches searches_;
  Tunnels tunnels_;
  wire::Hello hello_;
  absl::Duration started_at_;
  unique_fd listener_;
  std::set<std::shared_ptr<Connection>> connections_;
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_AGENT_H_
