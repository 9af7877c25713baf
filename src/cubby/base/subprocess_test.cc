#include "cubby/base/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cubby/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

TEST(Subprocess, CollectsBothStreamsAndTheExitCode) {
  auto result = RunCommand({.argv = {"sh", "-c", "cat; echo err >&2; exit 3"}},
                           Deadline::After(absl::Seconds(10)), "in");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->status.code, 3);
  EXPECT_EQ(result->out, "in");
  EXPECT_EQ(result->err, "err\n");
}

TEST(Subprocess, InheritsNoDescriptorAndNoVariable) {
  const int leaked = dup(2);  // without close-on-exec
  auto result = RunCommand({.argv = {"sh", "-c", "ls /proc/self/fd | wc -l; env | grep -c HOME"}},
                           Deadline::After(absl::Seconds(10)));
  close(leaked);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->out, "4\n0\n") << "0, 1, 2 and the folder that ls reads";
}

TEST(Subprocess, StartsWithNoSignalBlockedOrIgnored) {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const auto result = RunCommand({.argv = {"grep", "-E", "SigBlk|SigIgn", "/proc/self/status"},
                                  .environment = {"PATH=/usr/bin:/bin"}},
                                 Deadline::After(absl::Seconds(10)));
  signal(SIGPIPE, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  const size_t ignored = result->out.find("SigIgn:\t");
  ASSERT_NE(ignored, std::string::npos);
  EXPECT_EQ(result->out.substr(0, ignored), "SigBlk:\t0000000000000000\n");
  // 32 and 33 are the C library's own, which keeps programs from touching them.
  constexpr unsigned long long kOrdinary = 0x7fffffff;
  EXPECT_EQ(std::stoull(result->out.substr(ignored + 8), nullptr, 16) & kOrdinary, 0u);
}

TEST(Subprocess, DescriptorsMaySwapPlaces) {
  int a[2], b[2];
  ASSERT_EQ(pipe2(a, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(b, O_CLOEXEC), 0);
  auto process = Subprocess::Spawn(
      {.argv = {"/bin/sh", "-c", "echo A >&9; echo B >&8"}, .descriptors = {{a[1], 9}, {b[1], 8}}});
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_TRUE(process->Wait(Deadline::After(absl::Seconds(10)))->success());
  char text[3] = {};
  EXPECT_EQ(read(a[0], text, 2), 2);
  EXPECT_STREQ(text, "A\n");
  EXPECT_EQ(read(b[0], text, 2), 2);
  EXPECT_STREQ(text, "B\n");
  for (int fd : {a[0], a[1], b[0], b[1]}) close(fd);
}

TEST(Subprocess, MissingProgramIsNotFound) {
  EXPECT_EQ(Subprocess::Spawn({.argv = {"no-such-program-of-cubby"}}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(Subprocess, DeadlineKillsTheCommand) {
  auto result = RunCommand({.argv = {"sleep", "1000"}}, Deadline::After(absl::Milliseconds(50)));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(Subprocess, OutputIsBounded) {
  auto result = RunCommand({.argv = {"yes"}}, Deadline::After(absl::Seconds(10)), {}, 100000);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Subprocess, LettingGoOfAChildKillsAndReapsIt) {
  pid_t pid = 0;
  {
    auto process = Subprocess::Spawn({.argv = {"sleep", "1000"}});
    ASSERT_TRUE(process.ok());
    pid = process->pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_NE(kill(pid, 0), 0);
}

}  // namespace
}  // namespace cubby
