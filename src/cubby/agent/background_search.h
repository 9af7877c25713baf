// A search on a thread of its own: a slow disk or a large tree must not hold up the loop.
#ifndef CUBBY_AGENT_BACKGROUND_SEARCH_H_
#define CUBBY_AGENT_BACKGROUND_SEARCH_H_

#include <stddef.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/status/statusor.h"
#include "cubby/base/unique_fd.h"
#include "cubby/search/summary.h"
#include "cubby/wire/agent.pb.h"

namespace cubby::agent {

class BackgroundSearch {
 public:
  // What the thread does: searches, gives what it finds to Deliver, and says how it ended.
  using Work = std::function<absl::StatusOr<search::Summary>(BackgroundSearch*)>;

  // RESOURCE_EXHAUSTED when the machine gives no thread.
  static absl::StatusOr<std::unique_ptr<BackgroundSearch>> Start(Work work);
  // Cancels, and waits for the thread.
  ~BackgroundSearch();
  BackgroundSearch(const BackgroundSearch&) = delete;
  BackgroundSearch& operator=(const BackgroundSearch&) = delete;

  // The thread's side. Waits while much is untaken; false when nobody wants more.
  bool Deliver(wire::Event event);
  [[nodiscard]] const std::atomic<bool>* cancelled() const { return &cancelled_; }

  // The loop's side. `ready` is readable when Take may give something, and at the end.
  [[nodiscard]] int ready() const { return ready_.get(); }
  void Cancel();
  std::optional<wire::Event> Take();
  // Set when the search has ended and all of it was taken.
  std::optional<absl::StatusOr<search::Summary>> Result();

 private:
  explicit BackgroundSearch(unique_fd ready) : ready_(std::move(ready)) {}
  void Announce();

  const unique_fd ready_;  // an eventfd
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::condition_variable room_;
  std::deque<wire::Event> untaken_;
  size_t untaken_bytes_ = 0;
  std::optional<absl::StatusOr<search::Summary>> result_;
  std::thread thread_;
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_BACKGROUND_SEARCH_H_
