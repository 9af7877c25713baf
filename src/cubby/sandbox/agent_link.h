// The connection to one machine's agent, made when it is needed and again when it has broken.
#ifndef CUBBY_SANDBOX_AGENT_LINK_H_
#define CUBBY_SANDBOX_AGENT_LINK_H_

#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cubby/base/deadline.h"
#include "cubby/base/unique_fd.h"
#include "cubby/wire/channel.h"

namespace cubby {

// A new byte stream to the agent; a terminal error when the machine is gone.
using AgentConnector = std::function<absl::StatusOr<unique_fd>()>;

// Thread-safe.
class AgentLink {
 public:
  explicit AgentLink(AgentConnector connect) : connect_(std::move(connect)) {}

  // The standing connection, or a new one.
  absl::StatusOr<std::shared_ptr<wire::Channel>> Get(Deadline deadline);

  // Opens a stream. A connection that is found dead before anything was sent is replaced.
  absl::StatusOr<wire::ClientStream> Open(wire::Request request, wire::Channel::Input input,
                                          Deadline deadline);

  // What a failure of the connection means: terminal when the machine cannot be reached any more.
  absl::Status Explain(absl::Status status);

 private:
  const AgentConnector connect_;
  std::mutex mutex_;
  std::shared_ptr<wire::Channel> channel_;
};

}  // namespace cubby

#endif  // CUBBY_SANDBOX_AGENT_LINK_H_
