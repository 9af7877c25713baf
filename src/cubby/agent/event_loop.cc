#include "cubby/agent/event_loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "cubby/base/deadline.h"
#include "cubby/status.h"

namespace cubby::agent {
namespace {

constexpr int kEventsPerWait = 64;

// epoll gives back 64 bits: the descriptor and the low half of its watch's generation.
uint64_t Key(int fd, uint64_t generation) {
  return static_cast<uint64_t>(static_cast<uint32_t>(fd)) | generation << 32;
}

}  // namespace

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_.valid()) abort();  // an agent without its loop is of no use
}

absl::Status EventLoop::Watch(int fd, uint32_t events, std::function<void(uint32_t)> on_ready) {
  auto watcher = std::make_shared<Watcher>(
      Watcher{.generation = next_generation_++, .on_ready = std::move(on_ready)});
  epoll_event event{.events = events, .data = {.u64 = Key(fd, watcher->generation)}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return ErrnoError(errno, "epoll_ctl");
  }
  watchers_[fd] = std::move(watcher);
  return absl::OkStatus();
}

void EventLoop::Rewatch(int fd, uint32_t events) {
  auto found = watchers_.find(fd);
  if (found == watchers_.end()) return;
  epoll_event event{.events = events, .data = {.u64 = Key(fd, found->second->generation)}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::Unwatch(int fd) {
  if (watchers_.erase(fd) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

EventLoop::TimerId EventLoop::After(absl::Duration delay, std::function<void()> on_expired) {
  const TimerId id = next_timer_++;
  const absl::Duration at = MonotonicNow() + delay;
  timers_.emplace(id, Timer{.at = at, .on_expired = std::move(on_expired)});
  by_time_.emplace(at, id);
  return id;
}

void EventLoop::CancelTimer(TimerId id) {
  auto found = timers_.find(id);
  if (found == timers_.end()) return;
  by_time_.erase({found->second.at, id});
  timers_.erase(found);
}

void EventLoop::RunReady() {
  // Only what is ready now: a coroutine that yields must let descriptors have their turn.
  for (size_t n = ready_.size(); n > 0; --n) {
    const std::coroutine_handle<> handle = ready_.front();
    ready_.pop_front();
    handle.resume();
  }
}

void EventLoop::RunBeforeSleep() {
  for (const std::function<void()>& work : std::exchange(before_sleep_, {})) work();
}

void EventLoop::RunTimers() {
  const absl::Duration now = MonotonicNow();
  while (!by_time_.empty() && by_time_.begin()->first <= now) {
    const TimerId id = by_time_.begin()->second;
    by_time_.erase(by_time_.begin());
    auto node = timers_.extract(id);
    node.mapped().on_expired();
  }
}

int EventLoop::PollTimeoutMs() const {
  if (!ready_.empty()) return 0;
  if (by_time_.empty()) return -1;
  const absl::Duration wait = by_time_.begin()->first - MonotonicNow();
  const int64_t ms = absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1)));
  return static_cast<int>(std::clamp<int64_t>(ms, 0, std::numeric_limits<int>::max()));
}

void EventLoop::Run() {
  epoll_event events[kEventsPerWait];
  while (!stopped_) {
    RunReady();
    if (!by_time_.empty()) RunTimers();
    RunBeforeSleep();
    const int n = epoll_wait(epoll_.get(), events, kEventsPerWait, PollTimeoutMs());
    for (int i = 0; i < n; ++i) {
      const int fd = static_cast<int>(static_cast<uint32_t>(events[i].data.u64));
      auto found = watchers_.find(fd);
      if (found == watchers_.end()) continue;
      // Kept alive while it runs: it may unwatch itself.
      const std::shared_ptr<Watcher> watcher = found->second;
      if (Key(fd, watcher->generation) != events[i].data.u64) continue;
      watcher->on_ready(events[i].events);
    }
  }
}

}  // namespace cubby::agent
