#include "cubby/wire/frame.h"

#include <string.h>

#include <vector>

#include "gtest/gtest.h"

namespace cubby::wire {
namespace {

std::string Encode(const FrameHeader& header, absl::string_view payload) {
  char bytes[kHeaderBytes];
  EncodeHeader(header, bytes);
  return std::string(bytes, kHeaderBytes) + std::string(payload);
}

// Feeds `bytes` in pieces of `step` and returns the frames, or the status that ended it.
absl::StatusOr<std::vector<std::pair<FrameHeader, std::string>>> Parse(absl::string_view bytes,
                                                                       size_t step) {
  FrameParser parser;
  std::vector<std::pair<FrameHeader, std::string>> frames;
  while (!bytes.empty()) {
    size_t space = 0;
    char* to = parser.Space(&space);
    EXPECT_GT(space, 0u);
    const size_t n = std::min({space, step, bytes.size()});
    memcpy(to, bytes.data(), n);
    parser.Filled(n);
    bytes.remove_prefix(n);
    while (true) {
      absl::StatusOr<std::optional<Frame>> frame = parser.Next();
      if (!frame.ok()) return frame.status();
      if (!frame->has_value()) break;
      frames.emplace_back((*frame)->header, std::string((*frame)->payload));
    }
  }
  return frames;
}

TEST(Frame, AnyCutOfTheByteStreamGivesTheSameFrames) {
  std::string bytes;
  std::vector<size_t> sizes = {0, 1, 5, 4084, 4085, 5000, 0, kMaxPayloadBytes, 3, 70000, 12};
  for (size_t i = 0; i < sizes.size(); ++i) {
    bytes += Encode({.length = static_cast<uint32_t>(sizes[i]),
                     .stream = static_cast<uint32_t>(i + 1),
                     .kind = FrameKind::kData,
                     .flags = 1},
                    std::string(sizes[i], static_cast<char>('a' + i)));
  }
  for (size_t step : {size_t{1}, size_t{7}, size_t{4096}, size_t{65536}, bytes.size()}) {
    auto frames = Parse(bytes, step);
    ASSERT_TRUE(frames.ok()) << frames.status();
    ASSERT_EQ(frames->size(), sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_EQ((*frames)[i].first.stream, i + 1);
      EXPECT_EQ((*frames)[i].second, std::string(sizes[i], static_cast<char>('a' + i)));
    }
  }
}

TEST(Frame, WhatIsNotTheProtocolIsRefused) {
  const auto refused = [](const FrameHeader& header, const char* patch = nullptr, size_t at = 0) {
    std::string bytes = Encode(header, std::string(std::min<size_t>(header.length, 64), 'x'));
    if (patch != nullptr) bytes[at] = *patch;
    return Parse(bytes, bytes.size()).status().code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused({.stream = 1, .kind = static_cast<FrameKind>(0)}));
  EXPECT_TRUE(refused({.stream = 1, .kind = static_cast<FrameKind>(200)}));
  EXPECT_TRUE(refused({.length = kMaxPayloadBytes + 1, .stream = 1, .kind = FrameKind::kData}));
  EXPECT_TRUE(refused({.length = ~0U, .stream = 1, .kind = FrameKind::kData}));
  EXPECT_TRUE(refused({.stream = 1, .kind = FrameKind::kHello})) << "a hello is not on a stream";
  EXPECT_TRUE(refused({.stream = 0, .kind = FrameKind::kData})) << "data is on a stream";
  EXPECT_TRUE(refused({.length = 3, .stream = 1, .kind = FrameKind::kCredit}));
  EXPECT_TRUE(refused({.length = 1, .stream = 1, .kind = FrameKind::kCancel}));
  EXPECT_TRUE(refused({.length = 9, .stream = 0, .kind = FrameKind::kPing}));
  EXPECT_TRUE(refused({.stream = 1, .kind = FrameKind::kData, .flags = 0x40}));
  EXPECT_TRUE(refused({.stream = 1, .kind = FrameKind::kMessage, .flags = kFinFlag}));
  EXPECT_TRUE(refused({.stream = 1, .kind = FrameKind::kData}, "\1", 10)) << "reserved bytes";
}

}  // namespace
}  // namespace cubby::wire
