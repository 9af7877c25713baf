// The host's end of one connection to an agent.
//
// One thread reads the connection and hands each stream its frames; callers block on their own
// stream and on nothing else. All functions may be called from any thread. The peer is hostile:
// whatever it sends, a call ends with an answer or a status, and memory stays within what the
// streams' windows allow.
#ifndef CUBBY_WIRE_CHANNEL_H_
#define CUBBY_WIRE_CHANNEL_H_

#include <stdint.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cubby/base/deadline.h"
#include "cubby/base/unique_fd.h"
#include "cubby/wire/agent.pb.h"
#include "cubby/wire/frame.h"

namespace cubby::wire {

class ChannelCore;
struct StreamState;

// What came next on a stream.
struct Received {
  enum class Kind { kEvent, kData, kEnd };
  Kind kind = Kind::kEnd;
  Event event;          // kEvent
  int channel = 0;      // kData
  std::string bytes;    // kData
  absl::Status status;  // kEnd: how the agent ended the stream
};

class ClientStream {
 public:
  ClientStream(std::shared_ptr<ChannelCore> core, std::shared_ptr<StreamState> state);
  ClientStream(ClientStream&&) = default;
  ClientStream& operator=(ClientStream&&) = delete;
  ~ClientStream();  // cancels what has not ended

  // Blocks. An error (not a kEnd) means that the connection or the deadline is over.
  absl::StatusOr<Received> Next(Deadline deadline);
  // The next event; a kEnd with its status, or anything else, is an error.
  absl::StatusOr<Event> NextEvent(Deadline deadline);
  // Waits for the end of the stream and returns its status; other frames are an error.
  absl::Status Finish(Deadline deadline);

  // The memory of data received is used again for what comes. Fresh memory for every piece costs a
  // bulk transfer more than its copying does.
  void Recycle(std::string bytes);

  // Blocks until the peer has room. FAILED_PRECONDITION when the stream has ended: Next says how.
  absl::Status Send(absl::string_view bytes, Deadline deadline);
  absl::Status SendFin();
  absl::Status SendControl(const Control& control);
  void Cancel();

 private:
  std::shared_ptr<ChannelCore> core_;
  std::shared_ptr<StreamState> state_;
};

class Channel {
 public:
  // Greets the agent. UNAVAILABLE when it does not answer in time or ends the connection.
  static absl::StatusOr<std::unique_ptr<Channel>> Connect(unique_fd fd, Deadline deadline);
  ~Channel();

  enum class Input { kNone, kStream };  // whether data will be sent

  // UNAVAILABLE when the connection is over.
  absl::StatusOr<ClientStream> Open(Request request, Input input);

  // A round trip with a fresh number.
  absl::Status Ping(Deadline deadline);

  [[nodiscard]] const Hello& peer() const;
  // OK, or why the connection ended.
  [[nodiscard]] absl::Status status() const;

 private:
  explicit Channel(std::shared_ptr<ChannelCore> core);
  std::shared_ptr<ChannelCore> core_;
};

}  // namespace cubby::wire

#endif  // CUBBY_WIRE_CHANNEL_H_
