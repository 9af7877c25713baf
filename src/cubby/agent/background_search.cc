#include "cubby/agent/background_search.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "cubby/status.h"

namespace cubby::agent {
namespace {

// Beyond this the thread waits for the client.
constexpr size_t kMaxUntakenBytes = 256 << 10;

}  // namespace

absl::StatusOr<std::unique_ptr<BackgroundSearch>> BackgroundSearch::Start(Work work) {
  unique_fd ready(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ready.valid()) return ErrnoError(errno, "eventfd");
  std::unique_ptr<BackgroundSearch> search(new BackgroundSearch(std::move(ready)));
  try {
    search->thread_ = std::thread([self = search.get(), work = std::move(work)] {
      absl::StatusOr<search::Summary> result = work(self);
      std::lock_guard<std::mutex> lock(self->mutex_);
      self->result_ = std::move(result);
      self->Announce();
    });
  } catch (const std::system_error&) {
    return absl::ResourceExhaustedError(
        "search: the sandbox has no room for one more thread (its limit of processes)");
  }
  return search;
}

BackgroundSearch::~BackgroundSearch() {
  Cancel();
  if (thread_.joinable()) thread_.join();
}

void BackgroundSearch::Announce() {
  const uint64_t one = 1;
  // Fails only when the count is full, and then the descriptor is readable.
  (void)!write(ready_.get(), &one, sizeof(one));
}

bool BackgroundSearch::Deliver(wire::Event event) {
  std::unique_lock<std::mutex> lock(mutex_);
  room_.wait(lock, [this] { return untaken_bytes_ < kMaxUntakenBytes || cancelled_; });
  if (cancelled_) return false;
  untaken_bytes_ += event.ByteSizeLong();
  untaken_.push_back(std::move(event));
  Announce();
  return true;
}

void BackgroundSearch::Cancel() {
  std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  room_.notify_all();
}

std::optional<wire::Event> BackgroundSearch::Take() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (untaken_.empty()) return std::nullopt;
  wire::Event event = std::move(untaken_.front());
  untaken_.pop_front();
  untaken_bytes_ -= event.ByteSizeLong();
  room_.notify_all();
  return event;
}

std::optional<absl::StatusOr<search::Summary>> BackgroundSearch::Result() {
  std::lock_guard<std::mutex> lock(mutex_);
  return untaken_.empty() ? result_ : std::nullopt;
}

}  // namespace cubby::agent
