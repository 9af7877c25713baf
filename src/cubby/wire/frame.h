// wire/: the agent protocol (docs/protocol.md): frames, messages, streams with flow control.
//
// Pure code over bytes and one byte stream. It must know nothing of sandboxes, files or processes.
//
// A frame is a 12-byte header and a payload:
//
//   u32 payload length | u32 stream | u8 kind | u8 flags | u16 zero        (little-endian)
#ifndef CUBBY_WIRE_FRAME_H_
#define CUBBY_WIRE_FRAME_H_

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cubby::wire {

inline constexpr uint32_t kProtocolVersion = 1;
inline constexpr size_t kHeaderBytes = 12;
// Of a data frame and of a message. A peer that announces more is cut off before it sends it.
inline constexpr uint32_t kMaxPayloadBytes = 256 << 10;
// What a receiver takes on a stream before it grants credit, unless the OPEN frame says otherwise.
inline constexpr uint32_t kDefaultWindowBytes = 256 << 10;
// More than that is a protocol error of the peer.
inline constexpr uint32_t kMaxWindowBytes = 4 << 20;
inline constexpr uint32_t kMaxStreams = 4096;

enum class FrameKind : uint8_t {
  kHello = 1,    // stream 0, first frame of each side
  kOpen = 2,     // client: a new stream, with its request
  kMessage = 3,  // client: Control; agent: Event (counts against credit)
  kData = 4,     // raw bytes on a channel (count against credit)
  kCredit = 5,   // u32: the receiver can take that many bytes more
  kEnd = 6,      // agent: Status; the stream is over
  kCancel = 7,   // client: the stream is over
  kPing = 8,     // stream 0, 8 bytes
  kPong = 9,     // stream 0, the same 8 bytes
};

// Flags of OPEN and DATA: the sender sends no more data on this stream.
inline constexpr uint8_t kFinFlag = 0x80;
// Flags of DATA: which channel of the stream (0: the only one, or a command's input; 1 and 2: its
// output and error output).
inline constexpr uint8_t kChannelMask = 0x03;

struct FrameHeader {
  uint32_t length = 0;
  uint32_t stream = 0;
  FrameKind kind = FrameKind::kHello;
  uint8_t flags = 0;
};

void EncodeHeader(const FrameHeader& header, char out[kHeaderBytes]);

struct Frame {
  FrameHeader header;
  absl::string_view payload;  // valid until the next call of the parser
};

// Cuts a byte stream into frames. Holds at most one frame of incomplete input.
class FrameParser {
 public:
  // Where to put the next bytes of the stream, and how many fit (never 0).
  char* Space(size_t* size);
  void Filled(size_t size);

  // The next whole frame, or nothing until more bytes come. INVALID_ARGUMENT: the peer does not
  // speak the protocol (unknown kind, non-zero padding, oversized, wrong stream number, wrong
  // length for its kind); the connection must end.
  absl::StatusOr<std::optional<Frame>> Next();

  // After Next gave nothing: takes the data frame that has begun to come, when its payload has at
  // least `large` bytes. The caller reads the rest of the payload by itself, and only what comes
  // after it goes through here.
  struct Partial {
    FrameHeader header;
    absl::string_view received;  // of the payload; valid until the next call of the parser
  };
  std::optional<Partial> TakePartial(size_t large);

 private:
  // Room for two whole frames, so that a bulk stream is read with few calls.
  static constexpr size_t kBufferBytes = 2 * (kHeaderBytes + kMaxPayloadBytes);

  std::string buffer_;
  size_t begin_ = 0;  // of what is not yet parsed
  size_t end_ = 0;    // of what was received
  uint32_t last_length_ = 0;
};

}  // namespace cubby::wire

#endif  // CUBBY_WIRE_FRAME_H_
