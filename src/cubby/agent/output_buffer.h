// What is kept of one output stream of a command: its beginning and its end, with exact totals.
#ifndef CUBBY_AGENT_OUTPUT_BUFFER_H_
#define CUBBY_AGENT_OUTPUT_BUFFER_H_

#include <stddef.h>
#include <stdint.h>

#include <string>

#include "absl/strings/string_view.h"

namespace cubby::agent {

// Offsets count from the first byte that the command wrote. [0, head_end) and [tail_begin, total)
// are kept; what lies between was dropped. Memory grows with what is kept, up to the limits.
class OutputBuffer {
 public:
  OutputBuffer(size_t head_limit, size_t tail_limit)
      : head_limit_(head_limit), tail_limit_(tail_limit) {}

  void Append(absl::string_view bytes);
  // Drops everything that is kept; the total stays.
  void Clear();

  [[nodiscard]] uint64_t total() const { return total_; }
  [[nodiscard]] uint64_t head_end() const { return head_.size(); }
  [[nodiscard]] uint64_t tail_begin() const { return total_ - tail_size_; }
  [[nodiscard]] size_t kept_bytes() const { return head_.size() + tail_size_; }
  // How many bytes can still be appended before anything is dropped from the tail.
  [[nodiscard]] size_t tail_limit() const { return tail_limit_; }

  // A contiguous piece of what is kept from `offset` on; empty when `offset` is the total or lies
  // in the gap.
  [[nodiscard]] absl::string_view From(uint64_t offset) const;

 private:
  const size_t head_limit_;
  const size_t tail_limit_;
  std::string head_;
  std::string ring_;  // the tail, circular once it has reached its limit
  size_t ring_begin_ = 0;
  size_t tail_size_ = 0;
  uint64_t total_ = 0;
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_OUTPUT_BUFFER_H_
