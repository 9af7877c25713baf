// What a Channel and its streams share: the connection, its reader, and who waits for what.
#ifndef CUBBY_WIRE_CHANNEL_CORE_H_
#define CUBBY_WIRE_CHANNEL_CORE_H_

#include <stdint.h>
#include <sys/uio.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cubby/base/deadline.h"
#include "cubby/base/unique_fd.h"
#include "cubby/wire/channel.h"
#include "cubby/wire/timed_lock.h"

namespace cubby::wire {

// An agent reads its connection as long as it lives; one that takes nothing for so long is gone.
inline constexpr absl::Duration kWriteStall = absl::Seconds(30);

std::chrono::steady_clock::time_point ToTimePoint(Deadline deadline);

struct StreamState {
  explicit StreamState(uint32_t id, uint32_t window)
      : id(id), window(window), receive_window(window) {}

  const uint32_t id;
  const uint32_t window;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Received> queue;
  std::vector<std::string> spare;  // for large payloads; no more than were under way at once
  int64_t receive_window;          // what the agent may still send
  int64_t to_grant = 0;            // taken by the caller and not yet granted again
  int64_t send_credit = kDefaultWindowBytes;
  bool ended = false;   // the agent sent END, or the stream was cancelled
  absl::Status broken;  // why nothing more will come
};

class ChannelCore {
 public:
  static absl::StatusOr<std::shared_ptr<ChannelCore>> Create(unique_fd fd);
  ChannelCore(unique_fd fd, unique_fd wake);

  absl::Status Start(Deadline deadline);
  void Stop();

  absl::StatusOr<std::shared_ptr<StreamState>> Open(const Request& request, Channel::Input input);
  absl::Status Ping(Deadline deadline);
  void Forget(uint32_t id);
  absl::Status Write(FrameKind kind, uint32_t id, uint8_t flags, absl::string_view payload,
                     Deadline deadline);
  void Grant(StreamState* stream, int64_t bytes);

  const Hello& peer() const { return peer_; }
  absl::Status status() {
    std::lock_guard<std::mutex> lock(mutex_);
    return failure_;
  }

 private:
  void Read();
  ssize_t WriteParts(iovec* parts, int count);
  absl::Status ReadFrames();
  ssize_t ReadParts(iovec* parts, int count);
  std::string SpareFor(uint32_t id);
  // `payload`, when not null, is what the frame's payload is in, and may be moved from.
  absl::Status Dispatch(const Frame& frame, std::string* payload);
  absl::Status Deliver(const Frame& frame, std::string* payload, StreamState* stream);
  void Fail(const absl::Status& status);

  const unique_fd fd_;
  const bool is_socket_;
  const unique_fd wake_;  // readable: the reader must stop
  std::thread reader_;
  FrameParser parser_;  // the reader's
  Hello peer_;          // set before Start returns

  // Held from drawing a stream's number to sending it.
  TimedLock opening_;
  // Held while one frame is written whole.
  TimedLock writing_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool greeted_ = false;
  absl::Status failure_;
  uint32_t next_id_ = 1;
  std::unordered_map<uint32_t, std::shared_ptr<StreamState>> streams_;
  std::map<std::string, bool> pings_;  // payload -> answered
};

}  // namespace cubby::wire

#endif  // CUBBY_WIRE_CHANNEL_CORE_H_
