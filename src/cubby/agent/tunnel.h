// TCP connections through the agent's byte stream: to a port in the sandbox, and from one.
#ifndef CUBBY_AGENT_TUNNEL_H_
#define CUBBY_AGENT_TUNNEL_H_

#include <stdint.h>

#include <set>
#include <unordered_map>

#include "absl/status/status.h"
#include "cubby/agent/connection.h"
#include "cubby/agent/task.h"
#include "cubby/base/unique_fd.h"

namespace cubby::agent {

class Tunnels {
 public:
  explicit Tunnels(EventLoop* loop) : loop_(loop) {}

  Task<absl::Status> Connect(StreamPtr stream, wire::TunnelConnect request);
  // Announces connections until the client cancels; at most 128 wait to be picked up, and those
  // that are not are closed with the listener.
  Task<absl::Status> Listen(StreamPtr stream, wire::TunnelListen request);
  Task<absl::Status> Accept(StreamPtr stream, wire::TunnelAccept request);

 private:
  Task<absl::Status> Relay(StreamPtr stream, unique_fd socket);

  EventLoop* loop_;
  uint64_t next_connection_ = 1;
  std::unordered_map<uint64_t, unique_fd> waiting_;
  std::set<StreamPtr> listeners_;  // woken when one that waited is picked up
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_TUNNEL_H_
