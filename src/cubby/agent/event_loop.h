// The agent's one thread: descriptors, timers, and coroutines that are ready to go on.
#ifndef CUBBY_AGENT_EVENT_LOOP_H_
#define CUBBY_AGENT_EVENT_LOOP_H_

#include <stdint.h>

#include <coroutine>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cubby/base/unique_fd.h"

namespace cubby::agent {

class EventLoop {
 public:
  EventLoop();

  // Calls `on_ready` with the epoll events of `fd` until Unwatch. The callback may unwatch itself
  // and others. One watch per descriptor.
  absl::Status Watch(int fd, uint32_t events, std::function<void(uint32_t)> on_ready);
  void Rewatch(int fd, uint32_t events);
  void Unwatch(int fd);

  using TimerId = uint64_t;
  TimerId After(absl::Duration delay, std::function<void()> on_expired);
  void CancelTimer(TimerId id);

  // Resumes the coroutine soon, not from inside the caller.
  void Ready(std::coroutine_handle<> handle) { ready_.push_back(handle); }

  // Calls `work` once before the loop sleeps next: what this turn has written goes out together.
  void BeforeSleep(std::function<void()> work) { before_sleep_.push_back(std::move(work)); }

  // Runs until Stop. With nothing to do it sleeps without any wake-up.
  void Run();
  void Stop() { stopped_ = true; }

 private:
  struct Watcher {
    uint64_t generation;  // a descriptor number that was closed and reused is another watch
    std::function<void(uint32_t)> on_ready;
  };
  struct Timer {
    absl::Duration at;
    std::function<void()> on_expired;
  };

  void RunReady();
  void RunBeforeSleep();
  void RunTimers();
  int PollTimeoutMs() const;

  unique_fd epoll_;
  bool stopped_ = false;
  uint64_t next_generation_ = 1;
  std::unordered_map<int, std::shared_ptr<Watcher>> watchers_;
  TimerId next_timer_ = 1;
  std::unordered_map<TimerId, Timer> timers_;
  std::set<std::pair<absl::Duration, TimerId>> by_time_;
  std::deque<std::coroutine_handle<>> ready_;
  std::vector<std::function<void()>> before_sleep_;
};

// What one coroutine sleeps on. Everything that may concern it calls Wake; it then looks at the
// state of the world again. Waking without cause is harmless, so nothing is ever missed:
//
//   while (!something) co_await waker.Wait();
class Waker {
 public:
  explicit Waker(EventLoop* loop) : loop_(loop) {}

  void Wake() {
    if (waiting_) {
      loop_->Ready(std::exchange(waiting_, {}));
    } else {
      woken_ = true;
    }
  }

  auto Wait() {
    struct Awaiter {
      Waker* waker;
      bool await_ready() { return std::exchange(waker->woken_, false); }
      void await_suspend(std::coroutine_handle<> handle) { waker->waiting_ = handle; }
      void await_resume() {}
    };
    return Awaiter{this};
  }

  // Lets everything else that is ready run before going on.
  auto Yield() {
    struct Awaiter {
      Waker* waker;
      bool await_ready() { return false; }
      void await_suspend(std::coroutine_handle<> handle) { waker->loop_->Ready(handle); }
      void await_resume() {}
    };
    return Awaiter{this};
  }

 private:
  EventLoop* loop_;
  std::coroutine_handle<> waiting_;
  bool woken_ = false;
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_EVENT_LOOP_H_
