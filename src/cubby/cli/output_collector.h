// Keeps the beginning and the end of a stream.
#ifndef CUBBY_CLI_OUTPUT_COLLECTOR_H_
#define CUBBY_CLI_OUTPUT_COLLECTOR_H_

#include <stdint.h>

#include <string>

#include "absl/strings/string_view.h"
#include "cubby/sandbox.h"

namespace cubby::cli {

// Of more than `limit` bytes the first and the last half stay, as Sandbox::Execute keeps them.
class OutputCollector {
 public:
  explicit OutputCollector(int64_t limit)
      : head_limit_(static_cast<size_t>(limit) / 2 + static_cast<size_t>(limit) % 2),
        tail_limit_(static_cast<size_t>(limit) / 2) {}

  void Add(absl::string_view bytes);
  [[nodiscard]] OutputStream Take();

 private:
  size_t head_limit_;
  size_t tail_limit_;
  std::string head_;
  std::string tail_;  // at most twice the limit; cut when it is longer
  int64_t total_ = 0;
};

}  // namespace cubby::cli

#endif  // CUBBY_CLI_OUTPUT_COLLECTOR_H_
