#include "cubby/cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <thread>

#include "cubby/base/unique_fd.h"
#include "cubby/cli/output_collector.h"
#include "cubby/cli/progress.h"
#include "cubby/status.h"

namespace cubby::cli {
namespace {

TEST(Output, WhatCouldSteerATerminalIsEscaped) {
  EXPECT_EQ(Escape("plain name-1.txt"), "plain name-1.txt");
  EXPECT_EQ(Escape("a\nb\tc\\d"), "a\\nb\\tc\\\\d");
  EXPECT_EQ(Escape("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(Escape("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(Escape("\xc2\x9b"
                   "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(Escape("größe 日本 🦊"), "größe 日本 🦊");
  EXPECT_EQ(Escape("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate is not UTF-8";
}

TEST(Output, Utf8IsToldFromOtherBytes) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("größe \xf0\x9f\xa6\x8a"));
  EXPECT_TRUE(IsUtf8(absl::string_view("a\0b", 3)));
  EXPECT_FALSE(IsUtf8("\xc0\xaf")) << "overlong";
  EXPECT_FALSE(IsUtf8("\xe0\x80\xaf"));
  EXPECT_FALSE(IsUtf8("\xf4\x90\x80\x80")) << "above U+10FFFF";
  EXPECT_FALSE(IsUtf8("abc\xe2\x82")) << "cut";
}

TEST(Output, TablesAlignByCharacters) {
  Table table({"ID", "NAME", "LAST"});
  table.Add({"1", "größe", "x"});
  table.Add({"22", "a", ""});
  EXPECT_EQ(table.ToString(),
            "ID  NAME   LAST\n"
            "1   größe  x\n"
            "22  a      \n");
}

TEST(Output, EverythingIsWrittenToAPipeThatDoesNotBlock) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  unique_fd reader(ends[0]);
  unique_fd writer(ends[1]);
  fcntl(writer.get(), F_SETFL, O_NONBLOCK);
  const std::string sent(1 << 20, 'x');
  std::thread writing([&] {
    EXPECT_TRUE(WriteFully(writer.get(), sent).ok());
    writer.reset();
  });
  std::string received;
  char piece[65536];
  while (true) {
    const ssize_t got = read(reader.get(), piece, sizeof(piece));
    if (got <= 0) break;
    received.append(piece, static_cast<size_t>(got));
  }
  writing.join();
  EXPECT_EQ(received, sent);
}

TEST(Output, AReaderThatHasGoneIsAnErrorWithItsErrno) {
  signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  const unique_fd writer(ends[1]);
  EXPECT_EQ(GetErrorDetail(WriteFully(writer.get(), "x")).error_number, EPIPE);
}

TEST(OutputCollector, KeepsAllThatFits) {
  OutputCollector collector(10);
  collector.Add("01234");
  collector.Add("56789");
  const OutputStream stream = collector.Take();
  EXPECT_EQ(stream.bytes, "0123456789");
  EXPECT_EQ(stream.total_bytes, 10);
  EXPECT_FALSE(stream.truncated);
}

TEST(OutputCollector, KeepsBeginningAndEndOfMore) {
  for (const size_t piece : {1UL, 3UL, 7UL, 1000UL}) {
    std::string sent;
    for (int i = 0; i < 500; ++i) sent += static_cast<char>('a' + i % 26);
    OutputCollector collector(9);
    for (size_t at = 0; at < sent.size(); at += piece) collector.Add(sent.substr(at, piece));
    const OutputStream stream = collector.Take();
    EXPECT_EQ(stream.bytes, sent.substr(0, 5) + sent.substr(496)) << piece;
    EXPECT_EQ(stream.total_bytes, 500);
    EXPECT_TRUE(stream.truncated);
    EXPECT_EQ(stream.omitted_at, 5);
  }
}

TEST(OutputCollector, ALimitOfZeroOnlyCounts) {
  OutputCollector collector(0);
  collector.Add("abc");
  const OutputStream stream = collector.Take();
  EXPECT_EQ(stream.bytes, "");
  EXPECT_EQ(stream.total_bytes, 3);
  EXPECT_TRUE(stream.truncated);
}

TEST(Progress, ABarShowsBytesRateAndTimeLeft) {
  const PullProgress half{.done_bytes = 50 << 20, .total_bytes = 100 << 20, .step = "fetching"};
  EXPECT_EQ(Progress::Line("img", half, absl::Seconds(5), 0, Progress::Style::kBar, 120),
            "img: fetching [##########          ] 50% of 100 MiB, 10 MiB/s, 5.0 s left");
  EXPECT_EQ(Progress::Line("img", half, absl::Seconds(5), 0, Progress::Style::kLines, 0),
            "img: fetching 50% of 100 MiB, 10 MiB/s, 5.0 s left");
  EXPECT_EQ(Progress::Line("img", half, absl::Seconds(5), 0, Progress::Style::kBar, 20).size(),
            19U);
}

TEST(Progress, UnknownAndOddTotalsAreHarmless) {
  const auto line = [](int64_t done, int64_t total) {
    return Progress::Line("i", {.done_bytes = done, .total_bytes = total, .step = "s"},
                          absl::ZeroDuration(), 0, Progress::Style::kLines, 0);
  };
  EXPECT_EQ(line(0, 0), "i: s");
  EXPECT_EQ(line(2048, 0), "i: s 2 KiB");
  EXPECT_EQ(line(4096, 2048), "i: s 100% of 2 KiB");
  EXPECT_EQ(line(-1, -1), "i: s");
}

}  // namespace
}  // namespace cubby::cli
