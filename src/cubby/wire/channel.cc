#include "cubby/wire/channel.h"

#include <algorithm>
#include <utility>

#include "cubby/base/status_macros.h"
#include "cubby/status.h"
#include "cubby/wire/channel_core.h"

namespace cubby::wire {
ClientStream::ClientStream(std::shared_ptr<ChannelCore> core, std::shared_ptr<StreamState> state)
    : core_(std::move(core)), state_(std::move(state)) {}

ClientStream::~ClientStream() {
  if (state_ != nullptr) Cancel();
}

absl::StatusOr<Received> ClientStream::Next(Deadline deadline) {
  Received received;
  int64_t grant = 0;
  {
    std::unique_lock<std::mutex> lock(state_->mutex);
    const bool ready = state_->changed.wait_until(lock, ToTimePoint(deadline), [this] {
      return !state_->queue.empty() || !state_->broken.ok() || state_->ended;
    });
    if (state_->queue.empty()) {
      if (!state_->broken.ok()) return state_->broken;
      if (!ready) return absl::DeadlineExceededError("the agent has not answered in time");
      return absl::FailedPreconditionError("the stream has ended");
    }
    received = std::move(state_->queue.front());
    state_->queue.pop_front();
    if (received.kind == Received::Kind::kData) {
      state_->to_grant += static_cast<int64_t>(received.bytes.size());
    } else if (received.kind == Received::Kind::kEvent) {
      state_->to_grant += static_cast<int64_t>(received.event.ByteSizeLong());
    }
    if (!state_->ended && state_->to_grant >= state_->window / 2) {
      grant = std::exchange(state_->to_grant, 0);
      state_->receive_window += grant;
    }
  }
  if (grant > 0) core_->Grant(state_.get(), grant);
  return received;
}

void ClientStream::Recycle(std::string bytes) {
  bytes.clear();
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->spare.push_back(std::move(bytes));
}

absl::StatusOr<Event> ClientStream::NextEvent(Deadline deadline) {
  CUBBY_ASSIGN_OR_RETURN(Received received, Next(deadline));
  if (received.kind == Received::Kind::kEvent) return std::move(received.event);
  if (received.kind == Received::Kind::kEnd && !received.status.ok()) return received.status;
  return absl::InternalError("agent protocol: an event was expected");
}

absl::Status ClientStream::Finish(Deadline deadline) {
  CUBBY_ASSIGN_OR_RETURN(Received received, Next(deadline));
  if (received.kind == Received::Kind::kEnd) return received.status;
  return absl::InternalError("agent protocol: the end of the stream was expected");
}

absl::Status ClientStream::Send(absl::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    size_t size = 0;
    {
      std::unique_lock<std::mutex> lock(state_->mutex);
      const bool ready = state_->changed.wait_until(lock, ToTimePoint(deadline), [this] {
        return state_->send_credit > 0 || state_->ended || !state_->broken.ok();
      });
      if (!state_->broken.ok()) return state_->broken;
      if (state_->ended) return absl::FailedPreconditionError("the stream has ended");
      if (!ready) return absl::DeadlineExceededError("the agent takes no more data in time");
      size = std::min({bytes.size(), static_cast<size_t>(state_->send_credit),
                       static_cast<size_t>(kMaxPayloadBytes)});
      state_->send_credit -= static_cast<int64_t>(size);
    }
    CUBBY_RETURN_IF_ERROR(
        core_->Write(FrameKind::kData, state_->id, 0, bytes.substr(0, size), deadline));
    bytes.remove_prefix(size);
  }
  return absl::OkStatus();
}

absl::Status ClientStream::SendFin() {
  return core_->Write(FrameKind::kData, state_->id, kFinFlag, {}, Deadline::After(kWriteStall));
}

absl::Status ClientStream::SendControl(const Control& control) {
  return core_->Write(FrameKind::kMessage, state_->id, 0, control.SerializeAsString(),
                      Deadline::After(kWriteStall));
}

void ClientStream::Cancel() {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    if (state_->ended || !state_->broken.ok()) return;
    state_->ended = true;
    state_->changed.notify_all();
  }
  core_->Forget(state_->id);
  // A failure has failed the whole connection: there is nothing left to cancel.
  (void)core_->Write(FrameKind::kCancel, state_->id, 0, {}, Deadline::After(kWriteStall));
}

Channel::Channel(std::shared_ptr<ChannelCore> core) : core_(std::move(core)) {}

absl::StatusOr<std::unique_ptr<Channel>> Channel::Connect(unique_fd fd, Deadline deadline) {
  CUBBY_ASSIGN_OR_RETURN(std::shared_ptr<ChannelCore> core, ChannelCore::Create(std::move(fd)));
  // Owned by a Channel at once, so that its reader is stopped on every way out.
  std::unique_ptr<Channel> channel(new Channel(core));
  CUBBY_RETURN_IF_ERROR(core->Start(deadline));
  return channel;
}

Channel::~Channel() { core_->Stop(); }

absl::StatusOr<ClientStream> Channel::Open(Request request, Input input) {
  CUBBY_ASSIGN_OR_RETURN(std::shared_ptr<StreamState> stream, core_->Open(request, input));
  return ClientStream(core_, std::move(stream));
}

absl::Status Channel::Ping(Deadline deadline) { return core_->Ping(deadline); }

const Hello& Channel::peer() const { return core_->peer(); }

absl::Status Channel::status() const { return core_->status(); }

}  // namespace cubby::wire
