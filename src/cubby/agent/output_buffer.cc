#include "cubby/agent/output_buffer.h"

#include <string.h>

#include <algorithm>

namespace cubby::agent {

void OutputBuffer::Append(absl::string_view bytes) {
  total_ += bytes.size();
  const size_t to_head = std::min(bytes.size(), head_limit_ - head_.size());
  head_.append(bytes.data(), to_head);
  bytes.remove_prefix(to_head);
  if (bytes.size() > tail_limit_) bytes.remove_prefix(bytes.size() - tail_limit_);
  if (bytes.empty()) return;
  if (ring_.size() < tail_limit_ && tail_size_ + bytes.size() > ring_.size()) {
    // Not yet at the limit, hence not yet circular: grow.
    const size_t wanted = std::max(tail_size_ + bytes.size(), ring_.size() * 2);
    ring_.resize(std::min(std::max<size_t>(wanted, 4096), tail_limit_));
  }
  size_t at = (ring_begin_ + tail_size_) % ring_.size();
  for (absl::string_view rest = bytes; !rest.empty();) {
    const size_t n = std::min(rest.size(), ring_.size() - at);
    memcpy(ring_.data() + at, rest.data(), n);
    rest.remove_prefix(n);
    at = (at + n) % ring_.size();
  }
  const size_t sum = tail_size_ + bytes.size();
  if (sum > ring_.size()) ring_begin_ = (ring_begin_ + sum - ring_.size()) % ring_.size();
  tail_size_ = std::min(sum, ring_.size());
}

void OutputBuffer::Clear() {
  std::string().swap(head_);
  std::string().swap(ring_);
  ring_begin_ = 0;
  tail_size_ = 0;
}

absl::string_view OutputBuffer::From(uint64_t offset) const {
  if (offset < head_.size()) return absl::string_view(head_).substr(offset);
  if (offset < tail_begin() || offset >= total_) return {};
  const size_t skip = static_cast<size_t>(offset - tail_begin());
  const size_t at = (ring_begin_ + skip) % ring_.size();
  return absl::string_view(ring_).substr(at, std::min(tail_size_ - skip, ring_.size() - at));
}

}  // namespace cubby::agent
