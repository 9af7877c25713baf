#include "cubby/wire/testing/echo_server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace cubby::wire {
namespace {

Hello MakeHello() {
  Hello hello;
  hello.set_version(kProtocolVersion);
  hello.set_instance("echo");
  return hello;
}

}  // namespace

EchoServer::EchoServer(unique_fd* client) : session_(this, MakeHello()) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) abort();
  fd_.reset(ends[0]);
  client->reset(ends[1]);
  thread_ = std::thread([this] { Serve(); });
}

EchoServer::~EchoServer() {
  shutdown(fd_.get(), SHUT_RDWR);
  if (thread_.joinable()) thread_.join();
}

void EchoServer::Serve() {
  while (true) {
    size_t size = 0;
    char* space = session_.Space(&size);
    const ssize_t n = read(fd_.get(), space, size);
    if (n <= 0) return;
    session_.Filled(static_cast<size_t>(n));
    ended_ = session_.Process();
    if (!ended_.ok()) {
      shutdown(fd_.get(), SHUT_RDWR);
      return;
    }
  }
}

absl::Status EchoServer::Join() {
  thread_.join();
  return ended_;
}

void EchoServer::SendRaw(absl::string_view bytes) {
  (void)!send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void EchoServer::Write(absl::string_view header, absl::string_view payload) {
  SendRaw(std::string(header) + std::string(payload));
}

void EchoServer::OnOpen(uint32_t id, Request request, ServerSession::Input input) {
  switch (request.call_case()) {
    case Request::kReadFile:
      streams_[id].to_send = request.read_file().length();
      Pump(id);
      break;
    case Request::kWriteFile:
      streams_[id].is_write = true;
      if (input == ServerSession::Input::kNone) OnFin(id);
      break;
    case Request::kStat:
      session_.SendEnd(id, absl::NotFoundError("nothing here"));
      break;
    default:
      break;
  }
}

void EchoServer::OnData(uint32_t id, absl::string_view bytes) {
  if (!streams_[id].is_write) return;
  streams_[id].received += bytes.size();
  session_.GrantCredit(id, static_cast<uint32_t>(bytes.size()));
}

void EchoServer::OnFin(uint32_t id) {
  if (!streams_[id].is_write) return;
  Event event;
  event.mutable_read_done()->set_lines(streams_[id].received);
  session_.SendEvent(id, event);
  session_.SendEnd(id, absl::OkStatus());
  streams_.erase(id);
}

void EchoServer::Pump(uint32_t id) {
  auto found = streams_.find(id);
  if (found == streams_.end() || found->second.is_write) return;
  Stream& stream = found->second;
  while (stream.to_send > 0 && session_.SendCredit(id) > 0) {
    const size_t n = std::min({static_cast<size_t>(session_.SendCredit(id)),
                               static_cast<size_t>(stream.to_send), size_t{65536}});
    session_.SendData(id, 0, std::string(n, 'x'));
    stream.to_send -= n;
  }
  if (stream.to_send > 0) return;
  session_.SendEnd(id, absl::OkStatus());
  streams_.erase(id);
}

}  // namespace cubby::wire
