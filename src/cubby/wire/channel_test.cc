#include "cubby/wire/channel.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "cubby/status.h"
#include "cubby/wire/testing/echo_server.h"
#include "gtest/gtest.h"

namespace cubby::wire {
namespace {

Deadline Soon() { return Deadline::After(absl::Seconds(20)); }

Request ReadRequest(uint64_t bytes) {
  Request request;
  request.mutable_read_file()->set_length(bytes);
  return request;
}

// Bytes until the end of the stream, which must be OK.
uint64_t ReadAll(ClientStream* stream) {
  uint64_t bytes = 0;
  while (true) {
    absl::StatusOr<Received> received = stream->Next(Soon());
    if (!received.ok()) {
      ADD_FAILURE() << received.status();
      return bytes;
    }
    if (received->kind == Received::Kind::kEnd) {
      EXPECT_TRUE(received->status.ok()) << received->status;
      return bytes;
    }
    bytes += received->bytes.size();
  }
}

std::string RawFrame(const FrameHeader& header, absl::string_view payload = {}) {
  char bytes[kHeaderBytes];
  EncodeHeader(header, bytes);
  return std::string(bytes, kHeaderBytes) + std::string(payload);
}

// Returns how much was taken before the peer closed.
size_t SendAll(int fd, absl::string_view bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

class ChannelTest : public testing::Test {
 protected:
  ChannelTest() {
    unique_fd fd;
    server_ = std::make_unique<EchoServer>(&fd);
    absl::StatusOr<std::unique_ptr<Channel>> channel = Channel::Connect(std::move(fd), Soon());
    EXPECT_TRUE(channel.ok()) << channel.status();
    channel_ = *std::move(channel);
  }
  ClientStream Open(Request request, Channel::Input input = Channel::Input::kNone) {
    absl::StatusOr<ClientStream> stream = channel_->Open(std::move(request), input);
    EXPECT_TRUE(stream.ok()) << stream.status();
    return *std::move(stream);
  }
  std::unique_ptr<EchoServer> server_;
  std::unique_ptr<Channel> channel_;
};

TEST_F(ChannelTest, GreetingTellsWhoThePeerIs) {
  EXPECT_EQ(channel_->peer().instance(), "echo");
  EXPECT_TRUE(channel_->Ping(Soon()).ok());
}

TEST_F(ChannelTest, ErrorsCrossTheWire) {
  Request request;
  request.mutable_stat();
  EXPECT_EQ(Open(std::move(request)).Finish(Soon()).code(), absl::StatusCode::kNotFound);
}

TEST_F(ChannelTest, ThousandStreamsAtOnce) {
  std::vector<ClientStream> streams;
  for (int i = 0; i < 1000; ++i) streams.push_back(Open(ReadRequest(100000)));
  for (ClientStream& stream : streams) EXPECT_EQ(ReadAll(&stream), 100000u);
}

TEST_F(ChannelTest, StalledReaderStallsOnlyItsOwnStream) {
  ClientStream stalled = Open(ReadRequest(100 << 20));
  ClientStream other = Open(ReadRequest(20 << 20));
  EXPECT_EQ(ReadAll(&other), uint64_t{20} << 20);
  EXPECT_TRUE(channel_->Ping(Soon()).ok());
  EXPECT_EQ(ReadAll(&stalled), uint64_t{100} << 20);
}

TEST_F(ChannelTest, DataFlowsUpWithCredit) {
  Request request;
  request.mutable_write_file();
  ClientStream stream = Open(std::move(request), Channel::Input::kStream);
  const std::string piece(1 << 20, 'y');
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(stream.Send(piece, Soon()).ok());
  ASSERT_TRUE(stream.SendFin().ok());
  absl::StatusOr<Event> event = stream.NextEvent(Soon());
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->read_done().lines(), uint64_t{20} << 20);
  EXPECT_TRUE(stream.Finish(Soon()).ok());
}

TEST_F(ChannelTest, DeadlineEndsAWaitAndNotTheConnection) {
  Request request;
  request.mutable_make_dir();
  ClientStream stream = Open(std::move(request));
  EXPECT_EQ(stream.Finish(Deadline::After(absl::Milliseconds(20))).code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(channel_->Ping(Soon()).ok());
}

TEST_F(ChannelTest, CancelledStreamsLateFramesAreIgnored) {
  { ClientStream cancelled = Open(ReadRequest(50 << 20)); }
  ClientStream other = Open(ReadRequest(1000));
  EXPECT_EQ(ReadAll(&other), 1000u);
}

TEST_F(ChannelTest, OversizedRequestIsRefusedAndTheConnectionLives) {
  Request request;
  request.mutable_stat()->set_path(std::string(kMaxPayloadBytes + 1, 'x'));
  EXPECT_EQ(channel_->Open(std::move(request), Channel::Input::kNone).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(channel_->Ping(Soon()).ok());
}

TEST_F(ChannelTest, LostConnectionWakesEveryWaiter) {
  Request request;
  request.mutable_make_dir();
  ClientStream stream = Open(std::move(request));
  std::thread waiter([&] { EXPECT_TRUE(absl::IsUnavailable(stream.Finish(Soon()))); });
  server_.reset();
  waiter.join();
  EXPECT_TRUE(absl::IsUnavailable(channel_->Open(ReadRequest(1), Channel::Input::kNone).status()));
  EXPECT_TRUE(absl::IsUnavailable(channel_->Ping(Soon())));
}

// Each of these is what a hostile agent may send; the connection ends with a status.
class HostileAgentTest : public ChannelTest, public testing::WithParamInterface<int> {};

TEST_P(HostileAgentTest, EndsTheConnectionWithAStatus) {
  Request request;
  request.mutable_make_dir();
  request.set_window_bytes(1000);
  ClientStream stream = Open(std::move(request));  // stream 1
  const std::string big(kMaxPayloadBytes, 'z');
  const std::string frames[] = {
      RawFrame({.stream = 99, .kind = FrameKind::kEnd}),
      RawFrame({.stream = 0, .kind = FrameKind::kHello}),
      RawFrame({.length = 3, .stream = 1, .kind = FrameKind::kMessage}, "\xff\xff\xff"),
      RawFrame({.length = 3, .stream = 1, .kind = FrameKind::kEnd}, "\xff\xff\xff"),
      RawFrame({.stream = 1, .kind = FrameKind::kOpen}),
      RawFrame({.stream = 1, .kind = FrameKind::kCancel}),
      RawFrame({.length = 4, .stream = 1, .kind = FrameKind::kCredit}, "\xff\xff\xff\x7f"),
      RawFrame({.length = kMaxPayloadBytes, .stream = 1, .kind = FrameKind::kData}, big),
      std::string(4096, '\xee'),
  };
  server_->SendRaw(frames[GetParam()]);
  absl::Status status;
  while (true) {
    absl::StatusOr<Received> received = stream.Next(Soon());
    status = received.status();
    if (!received.ok()) break;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

INSTANTIATE_TEST_SUITE_P(Frames, HostileAgentTest, testing::Range(0, 9));

// What a hostile client may send to the agent.
TEST(ServerSessionTest, HostileClientsAreCutOff) {
  Hello hello;
  hello.set_version(1);
  const std::string greeting =
      RawFrame({.length = static_cast<uint32_t>(hello.ByteSizeLong()), .kind = FrameKind::kHello},
               hello.SerializeAsString());
  Request write;
  write.mutable_write_file();
  const auto open = [](uint32_t id, const Request& request) {
    return RawFrame({.length = static_cast<uint32_t>(request.ByteSizeLong()),
                     .stream = id,
                     .kind = FrameKind::kOpen},
                    request.SerializeAsString());
  };
  Request greedy = write;
  greedy.set_window_bytes(kMaxWindowBytes + 1);
  const std::string attacks[] = {
      RawFrame({.stream = 1, .kind = FrameKind::kCancel}),           // no greeting
      greeting + greeting,                                           // twice
      greeting + RawFrame({.stream = 1, .kind = FrameKind::kEnd}),   // an agent's frame
      greeting + RawFrame({.stream = 7, .kind = FrameKind::kData}),  // never opened
      greeting + open(2, write) + open(2, write),                    // a number twice
      greeting + open(2, write) + open(1, write),                    // out of order
      greeting + open(1, greedy),                                    // window too large
      greeting + RawFrame({.length = 2, .stream = 1, .kind = FrameKind::kOpen}, "\xff\xff"),
      greeting + open(1, write) +
          RawFrame({.stream = 1, .kind = FrameKind::kData, .flags = kFinFlag}) +
          RawFrame({.stream = 1, .kind = FrameKind::kMessage}) +  // ignored: ended
          RawFrame({.stream = 5, .kind = FrameKind::kMessage}),
      greeting + open(1, write) + RawFrame({.stream = 1, .kind = FrameKind::kData, .flags = 1}),
  };
  for (const std::string& attack : attacks) {
    unique_fd client;
    EchoServer server(&client);
    ASSERT_EQ(SendAll(client.get(), attack), attack.size());
    shutdown(client.get(), SHUT_WR);
    EXPECT_EQ(server.Join().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(ServerSessionTest, DataBeyondItsCreditIsCutOff) {
  Hello hello;
  hello.set_version(1);
  Request request;
  request.mutable_make_dir();  // never takes anything
  unique_fd client;
  EchoServer server(&client);
  std::string bytes =
      RawFrame({.length = static_cast<uint32_t>(hello.ByteSizeLong()), .kind = FrameKind::kHello},
               hello.SerializeAsString()) +
      RawFrame({.length = static_cast<uint32_t>(request.ByteSizeLong()),
                .stream = 1,
                .kind = FrameKind::kOpen},
               request.SerializeAsString());
  for (int i = 0; i < 2; ++i) {
    bytes += RawFrame({.length = kMaxPayloadBytes, .stream = 1, .kind = FrameKind::kData},
                      std::string(kMaxPayloadBytes, 'x'));
  }
  // Its answer to so much is a closed connection, maybe before all is sent.
  SendAll(client.get(), bytes);
  shutdown(client.get(), SHUT_WR);
  EXPECT_EQ(server.Join().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cubby::wire
