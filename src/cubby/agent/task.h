// Coroutines of the agent: one thread, no locks, no stack per request.
//
// A Task runs when it is awaited, or when it is given to Detach. Requests are written as straight
// code that waits for its stream's Waker; see event_loop.h.
#ifndef CUBBY_AGENT_TASK_H_
#define CUBBY_AGENT_TASK_H_

#include <stdlib.h>

#include <coroutine>
#include <optional>
#include <utility>

namespace cubby::agent {

template <typename T>
class [[nodiscard]] Task {
 public:
  struct promise_type {
    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        return self.promise().waiting ? self.promise().waiting : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_value(T value) { result.emplace(std::move(value)); }
    void unhandled_exception() { abort(); }  // only out-of-memory throws here

    std::coroutine_handle<> waiting;
    std::optional<T> result;
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) noexcept {
    handle_.promise().waiting = waiting;
    return handle_;
  }
  T await_resume() { return std::move(*handle_.promise().result); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

// A coroutine that runs on its own and frees itself at its end.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { abort(); }
  };
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_TASK_H_
