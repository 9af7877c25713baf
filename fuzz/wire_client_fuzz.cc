// Any bytes that an agent may send to its host: every call ends, and no stream delivers more than
// its window.
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "cubby/wire/channel.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cubby;
  using namespace cubby::wire;
  if (size > 100000) return 0;  // must fit the socket, for nobody reads it meanwhile
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) __builtin_trap();
  unique_fd agent(ends[0]);
  // A valid greeting first, so that the rest is looked at.
  Hello hello;
  hello.set_version(1);
  const std::string payload = hello.SerializeAsString();
  char header[kHeaderBytes];
  EncodeHeader({.length = static_cast<uint32_t>(payload.size()), .kind = FrameKind::kHello},
               header);
  (void)!write(agent.get(), header, sizeof(header));
  (void)!write(agent.get(), payload.data(), payload.size());
  const Deadline deadline = Deadline::After(absl::Seconds(5));
  absl::StatusOr<std::unique_ptr<Channel>> channel = Channel::Connect(unique_fd(ends[1]), deadline);
  if (!channel.ok()) return 0;
  Request request;
  request.set_window_bytes(4096);
  request.mutable_read_file();
  absl::StatusOr<ClientStream> stream = (*channel)->Open(request, Channel::Input::kStream);
  (void)!write(agent.get(), data, size);
  shutdown(agent.get(), SHUT_WR);
  if (!stream.ok()) return 0;
  while (true) {
    absl::StatusOr<Received> received = stream->Next(deadline);
    if (absl::IsDeadlineExceeded(received.status())) __builtin_trap();
    if (!received.ok() || received->kind == Received::Kind::kEnd) return 0;
  }
}
