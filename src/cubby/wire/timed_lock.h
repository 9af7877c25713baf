// A lock that is waited for until a deadline.
//
// In place of std::timed_mutex, whose pthread_mutex_clocklock the ThreadSanitizer of GCC 12 does
// not know: it takes every use for a fault.
#ifndef CUBBY_WIRE_TIMED_LOCK_H_
#define CUBBY_WIRE_TIMED_LOCK_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace cubby::wire {

class TimedLock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Held while it lives, when it was got in time.
  class Held {
   public:
    Held(TimedLock& lock, TimePoint until) : lock_(lock.Acquire(until) ? &lock : nullptr) {}
    ~Held() {
      if (lock_ != nullptr) lock_->Release();
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    [[nodiscard]] bool in_time() const { return lock_ != nullptr; }

   private:
    TimedLock* const lock_;
  };

 private:
  bool Acquire(TimePoint until) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!free_.wait_until(lock, until, [this] { return !held_; })) return false;
    held_ = true;
    return true;
  }
  void Release() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      held_ = false;
    }
    free_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable free_;
  bool held_ = false;
};

}  // namespace cubby::wire

#endif  // CUBBY_WIRE_TIMED_LOCK_H_
