// Sizes, times and modes as people write them.
#ifndef CUBBY_CLI_UNITS_H_
#define CUBBY_CLI_UNITS_H_

#include <stdint.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace cubby::cli {

// "512M", "1.5G", "64KiB", "1048576": powers of 1024, with or without "B" and "iB".
absl::StatusOr<int64_t> ParseSize(absl::string_view text);
std::string FormatSize(int64_t bytes);  // "1.5 GiB", "17 B"

// "30" and "30s" are seconds; also ms, m, h, d, and sums as in "1h30m". Never negative.
absl::StatusOr<absl::Duration> ParseSpan(absl::string_view text);
std::string FormatSpan(absl::Duration span);  // "1.5 ms", "42 s", "3 h", "2 d"

// "0755", "644": octal permission bits, at most 7777.
absl::StatusOr<uint32_t> ParseMode(absl::string_view text);
std::string FormatMode(uint32_t mode);  // "0755"

// "TERM", "SIGTERM", "15".
absl::StatusOr<int> ParseSignal(absl::string_view text);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_UNITS_H_
