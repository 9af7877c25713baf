#include "cubby/cli/output_collector.h"

#include <algorithm>
#include <utility>

namespace cubby::cli {

void OutputCollector::Add(absl::string_view bytes) {
  total_ += static_cast<int64_t>(bytes.size());
  const size_t to_head = std::min(bytes.size(), head_limit_ - head_.size());
  head_.append(bytes.data(), to_head);
  bytes.remove_prefix(to_head);
  if (bytes.size() > tail_limit_) bytes.remove_prefix(bytes.size() - tail_limit_);
  tail_.append(bytes.data(), bytes.size());
  // Cut seldom, so that many small pieces cost what few large ones do.
  if (tail_.size() > 2 * tail_limit_) tail_.erase(0, tail_.size() - tail_limit_);
}

OutputStream OutputCollector::Take() {
  if (tail_.size() > tail_limit_) tail_.erase(0, tail_.size() - tail_limit_);
  OutputStream stream{.bytes = std::move(head_), .total_bytes = total_};
  stream.omitted_at = static_cast<int64_t>(stream.bytes.size());
  stream.bytes += tail_;
  stream.truncated = total_ > static_cast<int64_t>(stream.bytes.size());
  if (!stream.truncated) stream.omitted_at = 0;
  return stream;
}

}  // namespace cubby::cli
