#include "cubby/base/deadline.h"

#include <time.h>

#include <algorithm>
#include <limits>

namespace cubby {

absl::Duration MonotonicNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::DurationFromTimespec(now);
}

absl::Duration Deadline::Remaining() const {
  if (infinite()) return absl::InfiniteDuration();
  return std::max(at_ - MonotonicNow(), absl::ZeroDuration());
}

int Deadline::PollTimeoutMs() const {
  if (infinite()) return -1;
  const int64_t ms = absl::ToInt64Milliseconds(absl::Ceil(Remaining(), absl::Milliseconds(1)));
  return static_cast<int>(std::min<int64_t>(ms, std::numeric_limits<int>::max()));
}

}  // namespace cubby
