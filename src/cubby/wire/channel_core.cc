#include "cubby/wire/channel_core.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"
#include "cubby/wire/credit.h"
#include "cubby/wire/status_codec.h"

namespace cubby::wire {
namespace {

// What a socket is asked to hold: a bulk transfer should not stand still whenever one side waits
// for a processor. The kernel gives less where it must.
constexpr int kSendBufferBytes = 2 << 20;
// A payload of this size is received where it is delivered, and not through the parser's buffer.
constexpr size_t kLargePayloadBytes = 16 << 10;

absl::Status Unavailable(absl::string_view what) {
  return MakeError(absl::StatusCode::kUnavailable, absl::StrCat("connection to the agent: ", what),
                   {.fate = Fate::kRetryable});
}

bool IsSocket(int fd) {
  int type = 0;
  socklen_t size = sizeof(type);
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

}  // namespace

std::chrono::steady_clock::time_point ToTimePoint(Deadline deadline) {
  // Capped, since waiting until "never" overflows in some standard libraries.
  const absl::Duration wait = std::min(deadline.Remaining(), absl::Hours(24 * 365));
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(wait);
}

absl::StatusOr<std::shared_ptr<ChannelCore>> ChannelCore::Create(unique_fd fd) {
  const int flags = fcntl(fd.get(), F_GETFL);
  if (flags < 0 || fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return ErrnoError(errno, "fcntl");
  }
  // Refused where the stream is no socket.
  (void)setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof(kSendBufferBytes));
  unique_fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return ErrnoError(errno, "eventfd");
  return std::make_shared<ChannelCore>(std::move(fd), std::move(wake));
}

ChannelCore::ChannelCore(unique_fd fd, unique_fd wake)
    : fd_(std::move(fd)), is_socket_(IsSocket(fd_.get())), wake_(std::move(wake)) {}

absl::Status ChannelCore::Start(Deadline deadline) {
  reader_ = std::thread([this] { Read(); });
  Hello hello;
  hello.set_version(kProtocolVersion);
  CUBBY_RETURN_IF_ERROR(Write(FrameKind::kHello, 0, 0, hello.SerializeAsString(), deadline));
  std::unique_lock<std::mutex> lock(mutex_);
  const bool answered = changed_.wait_until(lock, ToTimePoint(deadline),
                                            [this] { return greeted_ || !failure_.ok(); });
  if (!failure_.ok()) return failure_;
  if (!answered) return Unavailable("it does not answer the greeting");
  return absl::OkStatus();
}

void ChannelCore::Stop() {
  const uint64_t one = 1;
  // An eventfd of our own takes one more count; there is nothing to do about a failure.
  (void)!write(wake_.get(), &one, sizeof(one));
  if (reader_.joinable()) reader_.join();
  Fail(absl::CancelledError("the connection to the agent was closed by its owner"));
}

void ChannelCore::Fail(const absl::Status& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (failure_.ok()) failure_ = status;
  for (auto& [id, stream] : streams_) {
    std::lock_guard<std::mutex> stream_lock(stream->mutex);
    if (stream->broken.ok()) stream->broken = failure_;
    stream->changed.notify_all();
  }
  changed_.notify_all();
}

void ChannelCore::Read() {
  const absl::Status status = ReadFrames();
  Fail(status.ok() ? Unavailable("closed by the agent") : status);
}

// Returns OK at the end of the stream or when Stop asks.
absl::Status ChannelCore::ReadFrames() {
  while (true) {
    // Of a large payload that has begun to come, the rest goes straight to its string.
    std::string payload;
    size_t have = 0;
    const std::optional<FrameParser::Partial> partial = parser_.TakePartial(kLargePayloadBytes);
    if (partial.has_value()) {
      payload = SpareFor(partial->header.stream);
      payload.assign(partial->received.data(), partial->received.size());
      have = payload.size();
      payload.resize(partial->header.length);
    }
    do {
      iovec parts[2] = {{payload.data() + have, payload.size() - have}, {}};
      parts[1].iov_base = parser_.Space(&parts[1].iov_len);
      const ssize_t n = ReadParts(parts, 2);
      if (n == -ECANCELED || n == 0) return absl::OkStatus();
      if (n < 0) return Unavailable(ErrnoError(static_cast<int>(-n), "read").message());
      const size_t direct = std::min(static_cast<size_t>(n), payload.size() - have);
      have += direct;
      parser_.Filled(static_cast<size_t>(n) - direct);
    } while (have < payload.size());
    if (partial.has_value()) {
      CUBBY_RETURN_IF_ERROR(Dispatch({.header = partial->header, .payload = payload}, &payload));
    }
    while (true) {
      CUBBY_ASSIGN_OR_RETURN(const std::optional<Frame> frame, parser_.Next());
      if (!frame.has_value()) break;
      CUBBY_RETURN_IF_ERROR(Dispatch(*frame, nullptr));
    }
  }
}

// Waits for bytes. 0 at the end of the stream, -ECANCELED when Stop asks, or -errno.
ssize_t ChannelCore::ReadParts(iovec* parts, int count) {
  while (true) {
    const ssize_t n = readv(fd_.get(), parts, count);
    if (n >= 0) return n;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return -errno;
    pollfd pollers[2] = {{.fd = fd_.get(), .events = POLLIN},
                         {.fd = wake_.get(), .events = POLLIN}};
    if (poll(pollers, 2, -1) < 0 && errno != EINTR) return -errno;
    if (pollers[1].revents != 0) return -ECANCELED;
  }
}

// Memory for a payload of the stream.
std::string ChannelCore::SpareFor(uint32_t id) {
  std::shared_ptr<StreamState> stream;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = streams_.find(id);
    if (found == streams_.end()) return {};
    stream = found->second;
  }
  std::lock_guard<std::mutex> lock(stream->mutex);
  if (stream->spare.empty()) return {};
  std::string spare = std::move(stream->spare.back());
  stream->spare.pop_back();
  return spare;
}

absl::Status ChannelCore::Dispatch(const Frame& frame, std::string* payload) {
  const uint32_t id = frame.header.stream;
  std::shared_ptr<StreamState> stream;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!greeted_) {
      if (frame.header.kind != FrameKind::kHello ||
          !peer_.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size())) ||
          peer_.version() < 1) {
        return absl::InvalidArgumentError("agent protocol: the first frame is not a hello");
      }
      greeted_ = true;
      changed_.notify_all();
      return absl::OkStatus();
    }
    if (frame.header.kind == FrameKind::kPong) {
      auto ping = pings_.find(std::string(frame.payload));
      if (ping != pings_.end()) ping->second = true;
      changed_.notify_all();
      return absl::OkStatus();
    }
    auto found = streams_.find(id);
    if (found == streams_.end()) {
      if (id != 0 && id < next_id_) return absl::OkStatus();  // cancelled by us meanwhile
      return absl::InvalidArgumentError("agent protocol: frame for a stream that was never opened");
    }
    stream = found->second;
  }
  {
    std::lock_guard<std::mutex> lock(stream->mutex);
    CUBBY_RETURN_IF_ERROR(Deliver(frame, payload, stream.get()));
  }
  // Afterwards: a failure of the connection must still reach whoever waits on this stream.
  if (frame.header.kind == FrameKind::kEnd) Forget(id);
  return absl::OkStatus();
}

absl::Status ChannelCore::Deliver(const Frame& frame, std::string* payload, StreamState* stream) {
  Received received;
  const int size = static_cast<int>(frame.payload.size());
  switch (frame.header.kind) {
    case FrameKind::kCredit:
      if (!AddCredit(frame.payload, &stream->send_credit)) {
        return absl::InvalidArgumentError("agent protocol: more credit than allowed");
      }
      stream->changed.notify_all();
      return absl::OkStatus();
    case FrameKind::kMessage:
      received.kind = Received::Kind::kEvent;
      if (!received.event.ParseFromArray(frame.payload.data(), size)) {
        return absl::InvalidArgumentError("agent protocol: malformed event");
      }
      stream->receive_window -= size;
      // A message may overdraw the window, once: the agent sends it while there is any credit.
      if (stream->receive_window < -int64_t{kMaxPayloadBytes}) {
        return absl::InvalidArgumentError("agent protocol: more messages than credit");
      }
      break;
    case FrameKind::kData:
      received.kind = Received::Kind::kData;
      received.channel = frame.header.flags & kChannelMask;
      received.bytes = payload != nullptr ? std::move(*payload) : std::string(frame.payload);
      stream->receive_window -= size;
      if (stream->receive_window < 0) {
        return absl::InvalidArgumentError("agent protocol: more data than credit");
      }
      break;
    case FrameKind::kEnd: {
      Status status;
      if (!status.ParseFromArray(frame.payload.data(), size)) {
        return absl::InvalidArgumentError("agent protocol: malformed status");
      }
      received.kind = Received::Kind::kEnd;
      received.status = DecodeStatus(status);
      stream->ended = true;
      break;
    }
    default:
      return absl::InvalidArgumentError(
          "agent protocol: an agent does not send this kind of frame");
  }
  // Empty frames cost memory too, and no credit.
  if (size == 0 && received.kind != Received::Kind::kEnd) return absl::OkStatus();
  stream->queue.push_back(std::move(received));
  stream->changed.notify_all();
  return absl::OkStatus();
}

// An agent that has died must not end its host by SIGPIPE.
ssize_t ChannelCore::WriteParts(iovec* parts, int count) {
  if (!is_socket_) return writev(fd_.get(), parts, count);
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<size_t>(count);
  return sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
}

absl::Status ChannelCore::Write(FrameKind kind, uint32_t id, uint8_t flags,
                                absl::string_view payload, Deadline deadline) {
  if (payload.size() > kMaxPayloadBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request takes more than ", kMaxPayloadBytes, " bytes"));
  }
  char header[kHeaderBytes];
  EncodeHeader(
      {.length = static_cast<uint32_t>(payload.size()), .stream = id, .kind = kind, .flags = flags},
      header);
  iovec parts[2] = {{header, kHeaderBytes}, {const_cast<char*>(payload.data()), payload.size()}};
  iovec* at = parts;
  int count = payload.empty() ? 1 : 2;

  const TimedLock::Held lock(writing_, ToTimePoint(deadline));
  if (!lock.in_time()) {
    return absl::DeadlineExceededError("the agent takes no more requests in time");
  }
  bool begun = false;
  while (count > 0) {
    const ssize_t n = WriteParts(at, count);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) {
        const absl::Status status = Unavailable(ErrnoError(errno, "write").message());
        Fail(status);
        return status;
      }
      // Nothing of this frame is out yet: the caller's deadline counts, and the connection stays
      // usable. Afterwards the frame must be finished, whatever the deadline says.
      const Deadline wait = begun ? Deadline::After(kWriteStall)
                                  : Deadline::Earlier(deadline, Deadline::After(kWriteStall));
      pollfd pollers[2] = {{.fd = fd_.get(), .events = POLLOUT},
                           {.fd = wake_.get(), .events = POLLIN}};
      const int ready = poll(pollers, 2, wait.PollTimeoutMs());
      if (pollers[1].revents != 0) return absl::CancelledError("the connection is being closed");
      if (ready == 0) {
        if (!begun && deadline.Expired()) {
          return absl::DeadlineExceededError("the agent takes no more requests in time");
        }
        const absl::Status status = Unavailable(
            absl::StrCat("it has read nothing for ", absl::FormatDuration(kWriteStall)));
        Fail(status);
        return status;
      }
      continue;
    }
    begun = true;
    size_t done = static_cast<size_t>(n);
    while (count > 0 && done >= at->iov_len) {
      done -= at->iov_len;
      ++at;
      --count;
    }
    if (count > 0) {
      at->iov_base = static_cast<char*>(at->iov_base) + done;
      at->iov_len -= done;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<StreamState>> ChannelCore::Open(const Request& request,
                                                               Channel::Input input) {
  const std::string payload = request.SerializeAsString();
  const uint32_t window =
      request.window_bytes() != 0 ? request.window_bytes() : kDefaultWindowBytes;
  const Deadline deadline = request.deadline_ms() == 0
                                ? Deadline::Infinite()
                                : Deadline::After(absl::Milliseconds(request.deadline_ms()));
  std::shared_ptr<StreamState> stream;
  // Numbers must reach the agent in order.
  const TimedLock::Held order(opening_, ToTimePoint(deadline));
  if (!order.in_time()) {
    return absl::DeadlineExceededError("the agent takes no more requests in time");
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.ok()) return failure_;
    stream = std::make_shared<StreamState>(next_id_++, window);
    streams_.emplace(stream->id, stream);
  }
  absl::Status status = Write(FrameKind::kOpen, stream->id,
                              input == Channel::Input::kNone ? kFinFlag : 0, payload, deadline);
  if (!status.ok()) {
    Forget(stream->id);
    return status;
  }
  return stream;
}

absl::Status ChannelCore::Ping(Deadline deadline) {
  std::string nonce(8, '\0');
  if (getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size())) {
    return ErrnoError(errno, "getrandom");
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.ok()) return failure_;
    pings_[nonce] = false;
  }
  absl::Status status = Write(FrameKind::kPing, 0, 0, nonce, deadline);
  std::unique_lock<std::mutex> lock(mutex_);
  if (status.ok()) {
    const bool answered = changed_.wait_until(lock, ToTimePoint(deadline),
                                              [&] { return pings_[nonce] || !failure_.ok(); });
    if (!failure_.ok()) {
      status = failure_;
    } else if (!answered) {
      status = absl::DeadlineExceededError("the agent does not answer");
    }
  }
  pings_.erase(nonce);
  return status;
}

void ChannelCore::Forget(uint32_t id) {
  std::lock_guard<std::mutex> lock(mutex_);
  streams_.erase(id);
}

void ChannelCore::Grant(StreamState* stream, int64_t bytes) {
  char payload[4];
  EncodeCredit(static_cast<uint32_t>(bytes), payload);
  // A failure has failed the whole connection, and the caller hears of it at its next call.
  (void)Write(FrameKind::kCredit, stream->id, 0, {payload, sizeof(payload)}, Deadline::Infinite());
}

}  // namespace cubby::wire
