#include "cubby/agent/tunnel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby::agent {
namespace {

constexpr size_t kRelayBytes = 64 << 10;
constexpr size_t kMaxWaiting = 128;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

// Literals only: the agent never resolves names.
absl::StatusOr<Address> ParseAddress(const std::string& text, uint32_t port) {
  if (port > 0xffff) return absl::InvalidArgumentError(absl::StrCat("no such port: ", port));
  Address address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<uint16_t>(port));
    address.size = sizeof(*v4);
  } else if (inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(port));
    address.size = sizeof(*v6);
  } else {
    return absl::InvalidArgumentError(absl::StrCat("not an IP address: ", text));
  }
  return address;
}

absl::StatusOr<unique_fd> MakeSocket(const Address& address) {
  unique_fd fd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoError(errno, "socket");
  return fd;
}

uint32_t BoundPort(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  return storage.ss_family == AF_INET ? ntohs(reinterpret_cast<sockaddr_in*>(&storage)->sin_port)
                                      : ntohs(reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port);
}

// Ends a watch with its scope; the descriptor outlives it.
class ScopedWatch {
 public:
  ScopedWatch(EventLoop* loop, int fd) : loop_(loop), fd_(fd) {}
  ~ScopedWatch() { loop_->Unwatch(fd_); }
  ScopedWatch(const ScopedWatch&) = delete;
  ScopedWatch& operator=(const ScopedWatch&) = delete;

 private:
  EventLoop* loop_;
  int fd_;
};

}  // namespace

Task<absl::Status> Tunnels::Connect(StreamPtr stream, wire::TunnelConnect request) {
  absl::StatusOr<Address> address = ParseAddress(request.address(), request.port());
  if (!address.ok()) co_return address.status();
  absl::StatusOr<unique_fd> fd = MakeSocket(*address);
  if (!fd.ok()) co_return fd.status();
  const std::string shown = absl::StrCat(request.address(), ":", request.port());
  if (connect(fd->get(), reinterpret_cast<sockaddr*>(&address->storage), address->size) != 0) {
    if (errno != EINPROGRESS) co_return ErrnoError(errno, "connect", shown);
    bool ready = false;
    absl::Status status = loop_->Watch(fd->get(), EPOLLOUT, [&ready, raw = stream.get()](uint32_t) {
      ready = true;
      raw->waker.Wake();
    });
    if (!status.ok()) co_return status;
    {
      ScopedWatch watch(loop_, fd->get());
      while (!ready && stream->open()) co_await stream->waker.Wait();
    }
    if (!stream->open()) co_return stream->status();
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(fd->get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) co_return ErrnoError(error, "connect", shown);
  }
  // Tells the client that the connection stands, before the other side says anything.
  wire::Event event;
  event.mutable_incoming();
  stream->SendEvent(event);
  co_return co_await Relay(std::move(stream), *std::move(fd));
}

Task<absl::Status> Tunnels::Listen(StreamPtr stream, wire::TunnelListen request) {
  absl::StatusOr<Address> address = ParseAddress(request.address(), request.port());
  if (!address.ok()) co_return address.status();
  absl::StatusOr<unique_fd> fd = MakeSocket(*address);
  if (!fd.ok()) co_return fd.status();
  const int one = 1;
  setsockopt(fd->get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  const std::string shown = absl::StrCat(request.address(), ":", request.port());
  if (bind(fd->get(), reinterpret_cast<sockaddr*>(&address->storage), address->size) != 0 ||
      listen(fd->get(), 128) != 0) {
    co_return ErrnoError(errno, "listen on", shown);
  }
  // Edges: while connections are left waiting the loop must sleep all the same.
  absl::Status status = loop_->Watch(fd->get(), EPOLLIN | EPOLLET,
                                     [raw = stream.get()](uint32_t) { raw->waker.Wake(); });
  if (!status.ok()) co_return status;
  ScopedWatch watch(loop_, fd->get());
  wire::Event listening;
  listening.mutable_incoming()->set_port(BoundPort(fd->get()));
  stream->SendEvent(listening);
  std::vector<uint64_t> announced;
  listeners_.insert(stream);
  while (stream->open()) {
    unique_fd accepted;
    if (stream->Credit() > 0 && waiting_.size() < kMaxWaiting) {
      accepted.reset(accept4(fd->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    }
    if (!accepted.valid()) {
      co_await stream->waker.Wait();
      continue;
    }
    const uint64_t connection = next_connection_++;
    waiting_[connection] = std::move(accepted);
    announced.push_back(connection);
    wire::Event event;
    event.mutable_incoming()->set_connection(connection);
    stream->SendEvent(event);
  }
  listeners_.erase(stream);
  for (uint64_t connection : announced) waiting_.erase(connection);
  co_return stream->status();
}

Task<absl::Status> Tunnels::Accept(StreamPtr stream, wire::TunnelAccept request) {
  auto node = waiting_.extract(request.connection());
  if (node.empty()) {
    co_return absl::NotFoundError(
        absl::StrCat("tunnel: no connection ", request.connection(), " is waiting"));
  }
  for (const StreamPtr& listener : listeners_) listener->waker.Wake();
  co_return co_await Relay(std::move(stream), std::move(node.mapped()));
}

Task<absl::Status> Tunnels::Relay(StreamPtr stream, unique_fd socket) {
  absl::Status status = loop_->Watch(socket.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                     [raw = stream.get()](uint32_t) { raw->waker.Wake(); });
  if (!status.ok()) co_return status;
  ScopedWatch watch(loop_, socket.get());
  std::string buffer(kRelayBytes, '\0');
  bool receiving = true;  // from the socket
  bool sending = true;    // to the socket
  while (receiving || sending) {
    if (!stream->open()) co_return stream->status();
    bool moved = false;
    if (receiving && stream->Credit() > 0) {
      const size_t size = std::min(buffer.size(), static_cast<size_t>(stream->Credit()));
      const ssize_t n = read(socket.get(), buffer.data(), size);
      if (n > 0) {
        stream->SendData(0, {buffer.data(), static_cast<size_t>(n)});
        moved = true;
      } else if (n == 0) {
        // An empty event is the peer's end of file; the client may go on sending.
        receiving = false;
        wire::Event event;
        event.mutable_incoming();
        stream->SendEvent(event);
        moved = true;
      } else if (errno != EAGAIN && errno != EINTR) {
        co_return ErrnoError(errno, "read from the connection");
      }
    }
    if (sending && !stream->input().empty()) {
      const ssize_t n =
          send(socket.get(), stream->input().data(), stream->input().size(), MSG_NOSIGNAL);
      if (n > 0) {
        stream->Consume(static_cast<size_t>(n));
        moved = true;
      } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
        co_return ErrnoError(errno, "write to the connection");
      }
    }
    if (sending && stream->input_ended()) {
      shutdown(socket.get(), SHUT_WR);
      sending = false;
      moved = true;
    }
    if (!moved) {
      co_await stream->waker.Wait();
    } else {
      co_await stream->waker.Yield();
    }
  }
  co_return absl::OkStatus();
}

}  // namespace cubby::agent
