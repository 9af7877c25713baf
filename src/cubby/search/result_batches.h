// Delivers results in batches while the search goes on, and knows when there are enough.
#ifndef CUBBY_SEARCH_RESULT_BATCHES_H_
#define CUBBY_SEARCH_RESULT_BATCHES_H_

#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cubby/base/deadline.h"
#include "cubby/search/summary.h"

namespace cubby::search {

// Takes results in path order, which it may move from. False: no more are wanted.
template <typename Result>
using Sink = absl::FunctionRef<bool(absl::Span<Result>)>;

template <typename Result>
class ResultBatches {
 public:
  // `sink` and `summary` must outlive this.
  ResultBatches(uint64_t limit, Sink<Result> sink, Summary* summary)
      : limit_(limit), sink_(sink), summary_(summary) {}

  // False when the search is over: the limit stands and this result is the one past it, which
  // proves that there are more, or the sink wants none.
  bool Add(Result result) {
    if (count_ == limit_) {
      summary_->Truncate(Truncation::kLimit);
      return false;
    }
    ++count_;
    batch_.push_back(std::move(result));
    // The first goes out at once: somebody waits for it.
    if (count_ == 1 || batch_.size() >= kBatch) return Flush();
    return true;
  }

  // To be called now and then while nothing is found, so that a result does not wait for the next.
  bool FlushIfOld() {
    if (batch_.empty() || MonotonicNow() - flushed_at_ < kMaxAge) return true;
    return Flush();
  }

  bool Flush() {
    if (batch_.empty()) return true;
    summary_->results += batch_.size();
    const bool go_on = sink_(absl::MakeSpan(batch_));
    batch_.clear();
    flushed_at_ = MonotonicNow();
    if (!go_on) summary_->Truncate(Truncation::kCancelled);
    return go_on;
  }

  // How many more can be of use: one past the limit tells that it was reached.
  [[nodiscard]] uint64_t Wanted() const {
    return limit_ == kUnlimited ? kUnlimited : limit_ - count_ + 1;
  }

 private:
  static constexpr size_t kBatch = 64;
  static constexpr absl::Duration kMaxAge = absl::Milliseconds(50);

  const uint64_t limit_;
  Sink<Result> sink_;
  Summary* const summary_;
  uint64_t count_ = 0;
  std::vector<Result> batch_;
  absl::Duration flushed_at_ = absl::ZeroDuration();
};

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_RESULT_BATCHES_H_
