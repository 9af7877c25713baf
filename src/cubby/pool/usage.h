// One hand-over of a machine: which operations are in flight on it, and whether it still stands.
//
// While an operation is in flight the machine is neither parked, reaped nor evicted. After the
// hand-over has ended, what the caller still holds of it does nothing: it must not reach the
// machine of a successor.
#ifndef CUBBY_POOL_USAGE_H_
#define CUBBY_POOL_USAGE_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cubby {

class Usage : public std::enable_shared_from_this<Usage> {
 public:
  struct Events {
    std::function<void()> idle;                           // no operation is in flight any more
    std::function<void(const absl::Status&)> terminated;  // one has found the machine gone; once
  };
  Usage(std::string sandbox_id, Events events)
      : sandbox_id_(std::move(sandbox_id)), events_(std::move(events)) {}

  // An operation in flight, for as long as it lives.
  class Hold {
   public:
    explicit Hold(std::shared_ptr<Usage> usage) : usage_(std::move(usage)) {}
    Hold(Hold&&) noexcept = default;
    Hold& operator=(Hold&&) = delete;
    ~Hold();

   private:
    std::shared_ptr<Usage> usage_;
  };

  // UNAVAILABLE (retryable) after the end: acquire again.
  absl::StatusOr<Hold> Begin();
  // How an operation went. Not called while the caller holds any lock.
  void Report(const absl::Status& status);

  // Ends the hand-over unless an operation is in flight.
  bool TryClose();
  // Ends it whatever is in flight: the machine is being removed.
  void Close();
  // After TryClose, when the machine could not be parked.
  void Reopen();

 private:
  void End();

  const std::string sandbox_id_;
  const Events events_;
  std::mutex mutex_;
  int in_flight_ = 0;
  bool closed_ = false;
  bool terminated_ = false;
};

}  // namespace cubby

#endif  // CUBBY_POOL_USAGE_H_
