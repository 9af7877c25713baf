// A point in monotonic time by which something must be done.
//
// Deadlines are passed down unchanged, so nested steps share one budget. CLOCK_MONOTONIC stands
// still while the machine sleeps, and no clock step moves it.
#ifndef CUBBY_BASE_DEADLINE_H_
#define CUBBY_BASE_DEADLINE_H_

#include "absl/time/time.h"

namespace cubby {

// Time since an arbitrary start, never going back.
absl::Duration MonotonicNow();

class Deadline {
 public:
  static Deadline Infinite() { return Deadline(absl::InfiniteDuration()); }
  static Deadline After(absl::Duration duration) { return Deadline(MonotonicNow() + duration); }

  // Never negative.
  [[nodiscard]] absl::Duration Remaining() const;
  [[nodiscard]] bool Expired() const { return Remaining() == absl::ZeroDuration(); }
  [[nodiscard]] bool infinite() const { return at_ == absl::InfiniteDuration(); }
  // For poll(2) and epoll_wait(2): rounded up, -1 when there is no deadline.
  [[nodiscard]] int PollTimeoutMs() const;

  [[nodiscard]] static Deadline Earlier(Deadline a, Deadline b) { return a.at_ < b.at_ ? a : b; }

 private:
  explicit Deadline(absl::Duration at) : at_(at) {}
  absl::Duration at_;
};

}  // namespace cubby

#endif  // CUBBY_BASE_DEADLINE_H_
