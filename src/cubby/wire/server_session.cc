#include "cubby/wire/server_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/wire/credit.h"
#include "cubby/wire/status_codec.h"

namespace cubby::wire {
namespace {

absl::Status Refuse(const Frame& frame, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("agent protocol: stream ", frame.header.stream, ": ", why));
}

}  // namespace

absl::Status ServerSession::Process() {
  while (true) {
    CUBBY_ASSIGN_OR_RETURN(const std::optional<Frame> frame, parser_.Next());
    if (!frame.has_value()) return absl::OkStatus();
    CUBBY_RETURN_IF_ERROR(Handle(*frame));
  }
}

absl::Status ServerSession::Handle(const Frame& frame) {
  if (!greeted_) return HandleHello(frame);
  const uint32_t id = frame.header.stream;
  switch (frame.header.kind) {
    case FrameKind::kOpen:
      return HandleOpen(frame);
    case FrameKind::kPing:
      Send(FrameKind::kPong, 0, 0, frame.payload);
      return absl::OkStatus();
    case FrameKind::kMessage:
    case FrameKind::kData:
    case FrameKind::kCredit:
    case FrameKind::kCancel:
      break;
    default:
      return Refuse(frame, "a client does not send this kind of frame");
  }
  auto found = streams_.find(id);
  if (found == streams_.end()) {
    // The client may not know yet that we have ended the stream.
    return id <= last_id_ ? absl::OkStatus() : Refuse(frame, "never opened");
  }
  switch (frame.header.kind) {
    case FrameKind::kMessage: {
      Control control;
      if (!control.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size()))) {
        return Refuse(frame, "malformed control message");
      }
      handler_->OnControl(id, control);
      return absl::OkStatus();
    }
    case FrameKind::kData:
      return HandleData(frame, &found->second);
    case FrameKind::kCredit:
      if (!AddCredit(frame.payload, &found->second.send_credit)) {
        return Refuse(frame, "more credit than allowed");
      }
      handler_->OnCredit(id);
      return absl::OkStatus();
    default:  // kCancel
      streams_.erase(found);
      handler_->OnCancel(id);
      return absl::OkStatus();
  }
}

absl::Status ServerSession::HandleHello(const Frame& frame) {
  Hello hello;
  if (frame.header.kind != FrameKind::kHello ||
      !hello.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size()))) {
    return absl::InvalidArgumentError("agent protocol: the first frame is not a hello");
  }
  // Version 1 is the first: whoever speaks a later one must also speak it.
  if (hello.version() < 1) return absl::InvalidArgumentError("agent protocol: version 0");
  greeted_ = true;
  Send(FrameKind::kHello, 0, 0, hello_.SerializeAsString());
  return absl::OkStatus();
}

absl::Status ServerSession::HandleOpen(const Frame& frame) {
  const uint32_t id = frame.header.stream;
  if (id <= last_id_) return Refuse(frame, "stream numbers must grow");
  last_id_ = id;
  Request request;
  if (!request.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size()))) {
    return Refuse(frame, "malformed request");
  }
  if (request.window_bytes() > kMaxWindowBytes) return Refuse(frame, "window too large");
  Stream& stream = streams_[id];
  stream.send_credit =
      request.window_bytes() != 0 ? request.window_bytes() : int64_t{kDefaultWindowBytes};
  stream.finished = (frame.header.flags & kFinFlag) != 0;
  if (streams_.size() > kMaxStreams) {
    SendEnd(id, absl::ResourceExhaustedError(absl::StrCat("more than ", kMaxStreams,
                                                          " requests at once on one connection")));
    return absl::OkStatus();
  }
  handler_->OnOpen(id, std::move(request), stream.finished ? Input::kNone : Input::kStream);
  return absl::OkStatus();
}

absl::Status ServerSession::HandleData(const Frame& frame, Stream* stream) {
  const uint32_t id = frame.header.stream;
  if (stream->finished) return Refuse(frame, "data after its end");
  if ((frame.header.flags & kChannelMask) != 0) return Refuse(frame, "unknown channel");
  stream->receive_window -= frame.header.length;
  if (stream->receive_window < 0) return Refuse(frame, "more data than credit");
  stream->finished = (frame.header.flags & kFinFlag) != 0;
  const bool finished = stream->finished;
  if (!frame.payload.empty()) handler_->OnData(id, frame.payload);
  if (finished && streams_.contains(id)) handler_->OnFin(id);
  return absl::OkStatus();
}

int64_t ServerSession::SendCredit(uint32_t id) const {
  auto found = streams_.find(id);
  return found == streams_.end() ? 0 : std::max<int64_t>(found->second.send_credit, 0);
}

void ServerSession::SendEvent(uint32_t id, const Event& event) {
  auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const std::string payload = event.SerializeAsString();
  found->second.send_credit -= static_cast<int64_t>(payload.size());
  Send(FrameKind::kMessage, id, 0, payload);
}

void ServerSession::SendData(uint32_t id, int channel, absl::string_view bytes) {
  auto found = streams_.find(id);
  if (found == streams_.end()) return;
  found->second.send_credit -= static_cast<int64_t>(bytes.size());
  Send(FrameKind::kData, id, static_cast<uint8_t>(channel), bytes);
}

void ServerSession::GrantCredit(uint32_t id, uint32_t bytes) {
  auto found = streams_.find(id);
  if (found == streams_.end() || found->second.finished || bytes == 0) return;
  found->second.receive_window += bytes;
  char payload[4];
  EncodeCredit(bytes, payload);
  Send(FrameKind::kCredit, id, 0, {payload, sizeof(payload)});
}

void ServerSession::SendEnd(uint32_t id, const absl::Status& status) {
  if (streams_.erase(id) == 0) return;
  Send(FrameKind::kEnd, id, 0, EncodeStatus(status).SerializeAsString());
}

void ServerSession::Send(FrameKind kind, uint32_t id, uint8_t flags, absl::string_view payload) {
  char header[kHeaderBytes];
  EncodeHeader(
      {.length = static_cast<uint32_t>(payload.size()), .stream = id, .kind = kind, .flags = flags},
      header);
  handler_->Write({header, kHeaderBytes}, payload);
}

}  // namespace cubby::wire
