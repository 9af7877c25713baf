// The pool's time and its only way to wait, so that a test can stop both.
#ifndef CUBBY_POOL_POOL_CLOCK_H_
#define CUBBY_POOL_POOL_CLOCK_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cubby/base/deadline.h"

namespace cubby {

class PoolClock {
 public:
  virtual ~PoolClock() = default;
  // Monotonic, the same in all processes of the boot.
  virtual absl::Duration Now() = 0;
  // For people.
  virtual absl::Time WallNow() = 0;
  // Until notified or after `at_most`, or earlier: the caller looks at his condition again.
  virtual void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                    absl::Duration at_most) = 0;
};

class SystemClock : public PoolClock {
 public:
  absl::Duration Now() override { return MonotonicNow(); }
  absl::Time WallNow() override { return absl::Now(); }
  void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            absl::Duration at_most) override {
    changed.wait_for(lock, absl::ToChronoNanoseconds(at_most));
  }
};

}  // namespace cubby

#endif  // CUBBY_POOL_POOL_CLOCK_H_
