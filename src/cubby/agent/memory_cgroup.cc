#include "cubby/agent/memory_cgroup.h"

#include <limits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cubby/base/file.h"

namespace cubby::agent {

std::string ReadKernelFile(const std::string& path) {
  absl::StatusOr<std::string> content = ReadSmallFile(path, 64 << 10);
  return content.ok() ? *std::move(content) : std::string();
}

uint64_t NumberAfter(const std::string& text, const std::string& key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, key) || !absl::ConsumePrefix(&line, " ")) continue;
    uint64_t number = 0;
    return absl::SimpleAtoi(line, &number) ? number : 0;
  }
  return 0;
}

MemoryCgroup::MemoryCgroup(std::string root) {
  if (FileExists(root + "/memory.current")) {
    kind_ = Kind::kV2;
    folder_ = std::move(root);
  } else if (FileExists(root + "/memory/memory.usage_in_bytes")) {
    kind_ = Kind::kV1;
    folder_ = root + "/memory";
  }
}

uint64_t MemoryCgroup::Number(const char* v1, const char* v2) const {
  if (kind_ == Kind::kNone) return 0;
  uint64_t number = 0;
  const std::string text = ReadKernelFile(absl::StrCat(folder_, "/", kind_ == Kind::kV1 ? v1 : v2));
  // "max" is no number, and version 1 says "no limit" by a huge one.
  if (!absl::SimpleAtoi(text, &number)) return 0;
  return number >= static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / 2) ? 0 : number;
}

uint64_t MemoryCgroup::Usage() const { return Number("memory.usage_in_bytes", "memory.current"); }
uint64_t MemoryCgroup::Limit() const { return Number("memory.limit_in_bytes", "memory.max"); }
uint64_t MemoryCgroup::Peak() const { return Number("memory.max_usage_in_bytes", "memory.peak"); }

uint64_t MemoryCgroup::OutOfMemoryKills() const {
  switch (kind_) {
    case Kind::kV1:
      return NumberAfter(ReadKernelFile(folder_ + "/memory.oom_control"), "oom_kill");
    case Kind::kV2:
      return NumberAfter(ReadKernelFile(folder_ + "/memory.events"), "oom_kill");
    case Kind::kNone:
      return NumberAfter(ReadKernelFile("/proc/vmstat"), "oom_kill");
  }
  return 0;
}

}  // namespace cubby::agent
