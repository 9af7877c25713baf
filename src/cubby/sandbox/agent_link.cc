#include "cubby/sandbox/agent_link.h"

#include <utility>

#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr absl::Duration kExplainDeadline = absl::Seconds(5);

}  // namespace

absl::StatusOr<std::shared_ptr<wire::Channel>> AgentLink::Get(Deadline deadline) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (channel_ != nullptr && channel_->status().ok()) return channel_;
  CUBBY_ASSIGN_OR_RETURN(unique_fd fd, connect_());
  CUBBY_ASSIGN_OR_RETURN(channel_, wire::Channel::Connect(std::move(fd), deadline));
  return channel_;
}

absl::StatusOr<wire::ClientStream> AgentLink::Open(wire::Request request,
                                                   wire::Channel::Input input, Deadline deadline) {
  CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<wire::Channel> channel, Get(deadline));
  absl::StatusOr<wire::ClientStream> stream = channel->Open(std::move(request), input);
  // A connection that nobody has read the end of yet fails here first.
  if (!stream.ok()) return Explain(stream.status());
  return stream;
}

absl::Status AgentLink::Explain(absl::Status status) {
  if (!absl::IsUnavailable(status) || IsTerminal(status)) return status;
  absl::StatusOr<std::shared_ptr<wire::Channel>> channel = Get(Deadline::After(kExplainDeadline));
  if (channel.ok()) return status;  // the machine is there: only the connection was lost
  if (!IsTerminal(channel.status())) return status;
  ErrorDetail detail = GetErrorDetail(status);
  detail.fate = Fate::kTerminal;
  return MakeError(status.code(), channel.status().message(), detail);
}

}  // namespace cubby
