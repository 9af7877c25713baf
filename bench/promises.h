// The numbers that SPECIFICATION.md promises.
#ifndef CUBBY_BENCH_PROMISES_H_
#define CUBBY_BENCH_PROMISES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace cubby::bench {

struct Promise {
  std::string work;
  std::string peer;
  enum class Kind { kAtMost, kAtLeast } kind = Kind::kAtMost;
  double limit = 0;
  std::string unit;
};

// Rows "| `name` | work | peer | at most 2 times |" by name, above the file's first section.
// DATA_LOSS for a row that cannot be understood.
absl::StatusOr<std::map<std::string, Promise>> ReadPromises(const std::string& path);

}  // namespace cubby::bench

#endif  // CUBBY_BENCH_PROMISES_H_
