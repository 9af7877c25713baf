// Tunnels of a real agent, which is on the host: its loopback is ours.
#include "cubby/agent/tunnel.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "cubby/agent/testing/host_agent.h"
#include "cubby/wire/channel.h"
#include "gtest/gtest.h"

namespace cubby::agent {
namespace {

using wire::Channel;
using wire::ClientStream;
using wire::Received;

Deadline Soon() { return Deadline::After(absl::Seconds(30)); }

sockaddr_in Loopback(uint32_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

class TunnelTest : public testing::Test {
 protected:
  TunnelTest() : agent_(HostAgent::Start()) {
    channel_ = *Channel::Connect(*agent_->Connect(), Soon());
  }

  ClientStream Open(wire::Request request) {
    absl::StatusOr<ClientStream> stream =
        channel_->Open(std::move(request), Channel::Input::kStream);
    EXPECT_TRUE(stream.ok()) << stream.status();
    return *std::move(stream);
  }
  ClientStream Connect(const std::string& address, uint32_t port) {
    wire::Request request;
    request.mutable_tunnel_connect()->set_address(address);
    request.mutable_tunnel_connect()->set_port(port);
    return Open(std::move(request));
  }
  ClientStream Accept(uint64_t connection) {
    wire::Request request;
    request.mutable_tunnel_accept()->set_connection(connection);
    return Open(std::move(request));
  }
  ClientStream Listen(uint32_t* port) {
    wire::Request request;
    request.mutable_tunnel_listen()->set_address("127.0.0.1");
    ClientStream stream = Open(std::move(request));
    absl::StatusOr<wire::Event> event = stream.NextEvent(Soon());
    EXPECT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(event->incoming().connection(), 0u);
    *port = event->incoming().port();
    return stream;
  }
  uint64_t NextConnection(ClientStream* listener) {
    absl::StatusOr<wire::Event> event = listener->NextEvent(Soon());
    EXPECT_TRUE(event.ok()) << event.status();
    return event->incoming().connection();
  }

  std::unique_ptr<HostAgent> agent_;
  std::unique_ptr<Channel> channel_;
};

// What comes, until `bytes` have.
std::string Receive(ClientStream* stream, size_t bytes) {
  std::string all;
  while (all.size() < bytes) {
    absl::StatusOr<Received> received = stream->Next(Soon());
    if (!received.ok() || received->kind != Received::Kind::kData) {
      ADD_FAILURE() << received.status();
      return all;
    }
    all += received->bytes;
  }
  return all;
}

unique_fd ListenHere(uint32_t* port) {
  unique_fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(listen(fd.get(), 16), 0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  *port = ntohs(address.sin_port);
  return fd;
}

unique_fd ConnectHere(uint32_t port) {
  unique_fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(port);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

std::string ReadHere(int fd, size_t bytes) {
  std::string all(bytes, '\0');
  size_t have = 0;
  while (have < bytes) {
    const ssize_t n = read(fd, all.data() + have, bytes - have);
    if (n <= 0) break;
    have += static_cast<size_t>(n);
  }
  all.resize(have);
  return all;
}

TEST_F(TunnelTest, BytesAndEndsOfFilePassBothWays) {
  uint32_t port = 0;
  const unique_fd listener = ListenHere(&port);
  ClientStream stream = Connect("127.0.0.1", port);
  const unique_fd peer(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(peer.valid());
  ASSERT_TRUE(stream.NextEvent(Soon())->has_incoming()) << "the connection stands";
  ASSERT_TRUE(stream.Send("from outside", Soon()).ok());
  EXPECT_EQ(ReadHere(peer.get(), 12), "from outside");
  ASSERT_EQ(write(peer.get(), "from inside", 11), 11);
  EXPECT_EQ(Receive(&stream, 11), "from inside");
  // The peer's end of file leaves the other direction open.
  ASSERT_EQ(shutdown(peer.get(), SHUT_WR), 0);
  EXPECT_TRUE(stream.NextEvent(Soon())->has_incoming());
  ASSERT_TRUE(stream.Send("last", Soon()).ok());
  EXPECT_EQ(ReadHere(peer.get(), 4), "last");
  ASSERT_TRUE(stream.SendFin().ok());
  EXPECT_EQ(ReadHere(peer.get(), 1), "");
  EXPECT_TRUE(stream.Finish(Soon()).ok());
}

TEST_F(TunnelTest, ManyMegabytesPassThrough) {
  uint32_t port = 0;
  const unique_fd listener = ListenHere(&port);
  ClientStream stream = Connect("127.0.0.1", port);
  const unique_fd peer(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(stream.NextEvent(Soon()).ok());
  std::string sent(8 << 20, '\0');
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 31 >> 3);
  std::thread sender([&] {
    EXPECT_TRUE(stream.Send(sent, Soon()).ok());
    EXPECT_TRUE(stream.SendFin().ok());
  });
  EXPECT_TRUE(ReadHere(peer.get(), sent.size()) == sent);
  sender.join();
}

TEST_F(TunnelTest, ConnectionsToAListenerAreAnnouncedAndPickedUpOnce) {
  uint32_t port = 0;
  ClientStream listener = Listen(&port);
  const unique_fd first = ConnectHere(port);
  const uint64_t connection = NextConnection(&listener);
  ClientStream stream = Accept(connection);
  ASSERT_EQ(write(first.get(), "hello", 5), 5);
  EXPECT_EQ(Receive(&stream, 5), "hello");
  ASSERT_TRUE(stream.Send("world", Soon()).ok());
  EXPECT_EQ(ReadHere(first.get(), 5), "world");
  EXPECT_EQ(Accept(connection).Finish(Soon()).code(), absl::StatusCode::kNotFound);
}

TEST_F(TunnelTest, AListenerFullOfWaitingConnectionsGoesOnWhenOneIsPickedUp) {
  constexpr size_t kMaxWaiting = 128;
  uint32_t port = 0;
  ClientStream listener = Listen(&port);
  std::vector<unique_fd> peers;
  std::vector<uint64_t> connections;
  for (size_t i = 0; i < kMaxWaiting; ++i) {
    peers.push_back(ConnectHere(port));
    connections.push_back(NextConnection(&listener));
  }
  peers.push_back(ConnectHere(port));
  EXPECT_EQ(listener.NextEvent(Deadline::After(absl::Milliseconds(100))).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  ClientStream picked_up = Accept(connections[0]);
  EXPECT_GT(NextConnection(&listener), connections.back());
  // Those that nobody picked up are closed with the listener.
  listener.Cancel();
  EXPECT_EQ(ReadHere(peers[1].get(), 1), "");
  EXPECT_TRUE(channel_->Ping(Soon()).ok());
}

TEST_F(TunnelTest, WhatCannotBeReachedIsAnErrorOfItsOwn) {
  uint32_t port = 0;
  ListenHere(&port).reset();
  EXPECT_EQ(Connect("127.0.0.1", port).NextEvent(Soon()).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(Connect("localhost", 80).NextEvent(Soon()).status().code(),
            absl::StatusCode::kInvalidArgument)
      << "the agent resolves no names";
  EXPECT_EQ(Connect("127.0.0.1", 70000).NextEvent(Soon()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(TunnelTest, ShutdownEndsCommandsAndThenTheAgent) {
  wire::Request sleeper;
  sleeper.mutable_exec()->set_script("echo $$; exec sleep 1000");
  sleeper.mutable_exec()->set_follow(true);
  absl::StatusOr<ClientStream> command = channel_->Open(sleeper, Channel::Input::kNone);
  ASSERT_TRUE(command.ok());
  ASSERT_TRUE(command->NextEvent(Soon()).ok());
  ASSERT_FALSE(Receive(&*command, 2).empty()) << "it runs";
  wire::Request request;
  request.mutable_shutdown();
  absl::StatusOr<ClientStream> shutdown = channel_->Open(request, Channel::Input::kNone);
  ASSERT_TRUE(shutdown.ok());
  EXPECT_TRUE(shutdown->Finish(Soon()).ok());
  // unshare(1) ends with the agent, and the agent's process namespace with it.
  const Deadline deadline = Soon();
  while (agent_->Connect().ok() && !deadline.Expired()) {
  }
  EXPECT_FALSE(agent_->Connect().ok());
}

}  // namespace
}  // namespace cubby::agent
