#include "cubby/agent/connection.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/status.h"

namespace cubby::agent {
namespace {

// Frames below this size are gathered and written once per turn of the loop.
constexpr size_t kGatherBytes = 16 << 10;
// With more than that unwritten, no more is read from the client.
constexpr size_t kMaxBacklogBytes = 512 << 10;
// What a socket is asked to hold: a bulk transfer should not stand still whenever one side waits
// for a processor. The kernel gives less where it must.
constexpr int kSendBufferBytes = 2 << 20;
// Bytes that one turn reads from one connection before others have theirs.
constexpr int kReadsPerTurn = 4;

}  // namespace

Stream::Stream(EventLoop* loop, std::shared_ptr<Connection> connection, uint32_t id)
    : waker(loop), loop_(loop), connection_(std::move(connection)), id_(id) {}

Stream::~Stream() {
  if (deadline_ != 0) loop_->CancelTimer(deadline_);
}

int64_t Stream::Credit() const {
  if (!open() || connection_->congested_) return 0;
  return connection_->session_.SendCredit(id_);
}

void Stream::SendEvent(const wire::Event& event) {
  if (open()) connection_->session_.SendEvent(id_, event);
}

void Stream::SendData(int channel, absl::string_view bytes) {
  if (open()) connection_->session_.SendData(id_, channel, bytes);
}

void Stream::Consume(size_t bytes) {
  consumed_ += bytes;
  if (consumed_ == input_.size()) {
    input_.clear();
    consumed_ = 0;
  }
  Grant(bytes);
}

void Stream::Receive(absl::string_view bytes) {
  if (take_ != nullptr && input().empty()) {
    take_(bytes);
    Grant(bytes.size());
    return;
  }
  input_.append(bytes.data(), bytes.size());
  waker.Wake();
}

void Stream::Grant(size_t bytes) {
  to_grant_ += bytes;
  // Small grants would cost a frame each; half a window keeps the client busy meanwhile.
  if (to_grant_ >= wire::kDefaultWindowBytes / 2) {
    connection_->session_.GrantCredit(id_, static_cast<uint32_t>(std::exchange(to_grant_, 0)));
  }
}

void Stream::WidenInput(uint32_t bytes) { connection_->session_.GrantCredit(id_, bytes); }

bool Stream::NextControl(wire::Control* control) {
  if (controls_.empty()) return false;
  *control = std::move(controls_.front());
  controls_.pop_front();
  return true;
}

void Stream::Close(absl::Status why) {
  if (!open()) return;
  status_ = std::move(why);
  waker.Wake();
}

void Stream::End(const absl::Status& status) {
  connection_->session_.SendEnd(id_, status);
  connection_->streams_.erase(id_);
}

Connection::Connection(EventLoop* loop, unique_fd fd, wire::Hello hello, Serve serve,
                       std::function<void()> on_closed)
    : loop_(loop),
      fd_(std::move(fd)),
      session_(this, std::move(hello)),
      serve_(std::move(serve)),
      on_closed_(std::move(on_closed)) {}

Connection::~Connection() = default;

absl::Status Connection::Start() {
  // Refused where the stream is no socket.
  (void)setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof(kSendBufferBytes));
  watched_ = EPOLLIN;
  return loop_->Watch(fd_.get(), watched_,
                      [self = shared_from_this()](uint32_t events) { self->OnReady(events); });
}

void Connection::Close(const absl::Status& why) {
  if (!fd_.valid()) return;
  // The watch may hold the last reference to this object.
  const std::shared_ptr<Connection> self = shared_from_this();
  loop_->Unwatch(fd_.get());
  fd_.reset();
  for (auto& [id, weak] : std::exchange(streams_, {})) {
    if (StreamPtr stream = weak.lock()) stream->Close(why);
  }
  out_.clear();
  out_begin_ = 0;
  std::exchange(on_closed_, nullptr)();
}

void Connection::OnReady(uint32_t events) {
  if ((events & EPOLLOUT) != 0) Flush();
  if (fd_.valid() && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) Receive();
}

void Connection::Receive() {
  for (int i = 0; i < kReadsPerTurn && fd_.valid(); ++i) {
    // A client that does not read its answers is not asked for more.
    if (backlog() > kMaxBacklogBytes) return;
    size_t size = 0;
    char* space = session_.Space(&size);
    const ssize_t n = read(fd_.get(), space, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      Close(absl::CancelledError("the client has gone"));
      return;
    }
    session_.Filled(static_cast<size_t>(n));
    if (absl::Status status = session_.Process(); !status.ok()) {
      Close(status);
      return;
    }
    if (static_cast<size_t>(n) < size) return;
  }
}

void Connection::OnOpen(uint32_t id, wire::Request request, wire::ServerSession::Input input) {
  auto stream = std::make_shared<Stream>(loop_, shared_from_this(), id);
  stream->fin_ = input == wire::ServerSession::Input::kNone;
  streams_[id] = stream;
  if (request.deadline_ms() != 0) {
    // Capped at a year: the client's number is any 64 bits.
    const absl::Duration delay =
        std::min(absl::Milliseconds(
                     static_cast<int64_t>(std::min<uint64_t>(request.deadline_ms(), 1ULL << 40))),
                 absl::Hours(24 * 365));
    stream->deadline_ = loop_->After(delay, [weak = std::weak_ptr<Stream>(stream)] {
      if (StreamPtr stream = weak.lock()) {
        stream->deadline_ = 0;
        stream->Close(absl::DeadlineExceededError("the request's deadline has passed"));
      }
    });
  }
  serve_(std::move(stream), std::move(request));
}

void Connection::OnControl(uint32_t id, const wire::Control& control) {
  constexpr size_t kMaxQueuedControls = 1024;
  auto found = streams_.find(id);
  if (found == streams_.end()) return;
  if (StreamPtr stream = found->second.lock(); stream != nullptr) {
    if (stream->controls_.size() < kMaxQueuedControls) stream->controls_.push_back(control);
    stream->waker.Wake();
  }
}

void Connection::OnData(uint32_t id, absl::string_view bytes) {
  auto found = streams_.find(id);
  if (found == streams_.end()) return;
  if (StreamPtr stream = found->second.lock()) {
    stream->Receive(bytes);
  }
}

void Connection::OnFin(uint32_t id) {
  auto found = streams_.find(id);
  if (found == streams_.end()) return;
  if (StreamPtr stream = found->second.lock()) {
    stream->fin_ = true;
    stream->waker.Wake();
  }
}

void Connection::OnCredit(uint32_t id) {
  auto found = streams_.find(id);
  if (found == streams_.end()) return;
  if (StreamPtr stream = found->second.lock()) stream->waker.Wake();
}

void Connection::OnCancel(uint32_t id) {
  auto node = streams_.extract(id);
  if (node.empty()) return;
  if (StreamPtr stream = node.mapped().lock()) {
    stream->Close(absl::CancelledError("cancelled by the client"));
  }
}

void Connection::Write(absl::string_view header, absl::string_view payload) {
  if (!fd_.valid()) return;
  if (payload.size() >= kGatherBytes) Flush();
  if (!fd_.valid()) return;
  size_t written = 0;
  if (payload.size() >= kGatherBytes && backlog() == 0) {
    iovec parts[2] = {{const_cast<char*>(header.data()), header.size()},
                      {const_cast<char*>(payload.data()), payload.size()}};
    const ssize_t n = writev(fd_.get(), parts, 2);
    if (n > 0) written = static_cast<size_t>(n);
    congested_ = written < header.size() + payload.size();
  }
  if (written < header.size()) {
    out_.append(header.data() + written, header.size() - written);
    written = 0;
  } else {
    written -= header.size();
  }
  out_.append(payload.data() + written, payload.size() - written);
  if (backlog() > 0 && !flush_planned_) {
    flush_planned_ = true;
    loop_->BeforeSleep([weak = weak_from_this()] {
      if (std::shared_ptr<Connection> self = weak.lock()) self->Flush();
    });
  }
}

void Connection::Flush() {
  flush_planned_ = false;
  if (!fd_.valid()) return;
  const bool was_congested = congested_;
  while (backlog() > 0) {
    const ssize_t n = write(fd_.get(), out_.data() + out_begin_, backlog());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) {
      Close(ErrnoError(errno, "write to the client"));
      return;
    }
    out_begin_ += static_cast<size_t>(n);
  }
  congested_ = backlog() > 0;
  if (!congested_) {
    // Large buffers are given back, others are kept: fresh memory costs more than copying to it.
    if (out_.capacity() > kMaxBacklogBytes) {
      std::string().swap(out_);
    } else {
      out_.clear();
    }
    out_begin_ = 0;
  }
  UpdateWatch();
  if (was_congested && !congested_) {
    for (auto& [id, weak] : streams_) {
      if (StreamPtr stream = weak.lock()) stream->waker.Wake();
    }
  }
}

void Connection::UpdateWatch() {
  const uint32_t wanted = (backlog() <= kMaxBacklogBytes ? static_cast<uint32_t>(EPOLLIN) : 0U) |
                          (backlog() > 0 ? static_cast<uint32_t>(EPOLLOUT) : 0U);
  if (wanted == watched_) return;
  watched_ = wanted;
  loop_->Rewatch(fd_.get(), wanted);
}

}  // namespace cubby::agent
