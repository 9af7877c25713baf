#include "cubby/wire/frame.h"

#include <string.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace cubby::wire {
namespace {

// Buffers start small: an agent with idle connections must not hold memory for bulk transfers.
constexpr size_t kSmallBufferBytes = 4 << 10;

uint32_t Load32(const char* at) {
  const auto* b = reinterpret_cast<const unsigned char*>(at);
  return uint32_t{b[0]} | uint32_t{b[1]} << 8 | uint32_t{b[2]} << 16 | uint32_t{b[3]} << 24;
}

void Store32(uint32_t value, char* at) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<char>(value >> (8 * i));
}

FrameHeader DecodeHeader(const char* at) {
  return {.length = Load32(at),
          .stream = Load32(at + 4),
          .kind = static_cast<FrameKind>(at[8]),
          .flags = static_cast<uint8_t>(at[9])};
}

absl::Status CheckHeader(const FrameHeader& header, absl::string_view padding) {
  const auto refuse = [&header](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("agent protocol: ", why, " (kind ",
                                                   static_cast<int>(header.kind), ", stream ",
                                                   header.stream, ", ", header.length, " bytes)"));
  };
  if (padding != absl::string_view("\0\0", 2)) return refuse("reserved bytes are set");
  if (header.length > kMaxPayloadBytes) return refuse("oversized frame");
  uint8_t allowed_flags = 0;
  bool on_stream = true;
  switch (header.kind) {
    case FrameKind::kHello:
      on_stream = false;
      break;
    case FrameKind::kOpen:
      allowed_flags = kFinFlag;
      break;
    case FrameKind::kMessage:
    case FrameKind::kEnd:
      break;
    case FrameKind::kData:
      allowed_flags = kFinFlag | kChannelMask;
      break;
    case FrameKind::kCredit:
      if (header.length != 4) return refuse("credit of a wrong size");
      break;
    case FrameKind::kCancel:
      if (header.length != 0) return refuse("cancel with a payload");
      break;
    case FrameKind::kPing:
    case FrameKind::kPong:
      if (header.length != 8) return refuse("ping of a wrong size");
      on_stream = false;
      break;
    default:
      return refuse("unknown kind of frame");
  }
  if ((header.flags & ~allowed_flags) != 0) return refuse("unknown flags");
  if (on_stream != (header.stream != 0)) return refuse("wrong stream number");
  return absl::OkStatus();
}

}  // namespace

void EncodeHeader(const FrameHeader& header, char out[kHeaderBytes]) {
  Store32(header.length, out);
  Store32(header.stream, out + 4);
  out[8] = static_cast<char>(header.kind);
  out[9] = static_cast<char>(header.flags);
  out[10] = 0;
  out[11] = 0;
}

char* FrameParser::Space(size_t* size) {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    // After a bulk transfer an idle connection gives its memory back.
    if (buffer_.size() > kSmallBufferBytes && last_length_ < kSmallBufferBytes / 2) {
      std::string().swap(buffer_);
    }
  }
  size_t wanted = kSmallBufferBytes;
  if (end_ - begin_ >= kHeaderBytes) {
    // The header was checked by Next, which left the frame because it is incomplete.
    const size_t length = std::min(Load32(buffer_.data() + begin_), kMaxPayloadBytes);
    if (kHeaderBytes + length > kSmallBufferBytes) wanted = kBufferBytes;
  }
  if (buffer_.size() < wanted) buffer_.resize(wanted);
  if (begin_ > 0 && buffer_.size() - end_ < buffer_.size() / 2) {
    memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  *size = buffer_.size() - end_;
  return buffer_.data() + end_;
}

void FrameParser::Filled(size_t size) { end_ += size; }

std::optional<FrameParser::Partial> FrameParser::TakePartial(size_t large) {
  if (end_ - begin_ < kHeaderBytes) return std::nullopt;
  const char* at = buffer_.data() + begin_;
  const FrameHeader header = DecodeHeader(at);
  if (header.kind != FrameKind::kData || header.length < large) return std::nullopt;
  const absl::string_view received(at + kHeaderBytes, end_ - begin_ - kHeaderBytes);
  begin_ = end_;
  last_length_ = header.length;
  return Partial{.header = header, .received = received};
}

absl::StatusOr<std::optional<Frame>> FrameParser::Next() {
  if (end_ - begin_ < kHeaderBytes) return std::nullopt;
  const char* at = buffer_.data() + begin_;
  const FrameHeader header = DecodeHeader(at);
  if (absl::Status status = CheckHeader(header, {at + 10, 2}); !status.ok()) return status;
  if (end_ - begin_ < kHeaderBytes + header.length) return std::nullopt;
  begin_ += kHeaderBytes + header.length;
  last_length_ = header.length;
  return Frame{.header = header, .payload = {at + kHeaderBytes, header.length}};
}

}  // namespace cubby::wire
