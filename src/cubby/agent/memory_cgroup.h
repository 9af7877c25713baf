// What the sandbox's own control group says of its memory, as seen from inside.
#ifndef CUBBY_AGENT_MEMORY_CGROUP_H_
#define CUBBY_AGENT_MEMORY_CGROUP_H_

#include <stdint.h>

#include <string>

namespace cubby::agent {

class MemoryCgroup {
 public:
  // `root` is /sys/fs/cgroup; works with version 1, version 2 and none.
  explicit MemoryCgroup(std::string root);

  // 0 where it cannot be known.
  [[nodiscard]] uint64_t Usage() const;
  [[nodiscard]] uint64_t Limit() const;
  [[nodiscard]] uint64_t Peak() const;
  // Processes that the kernel has killed for the limit; in a machine of its own, since its boot.
  [[nodiscard]] uint64_t OutOfMemoryKills() const;

 private:
  enum class Kind { kNone, kV1, kV2 };
  [[nodiscard]] uint64_t Number(const char* v1, const char* v2) const;

  Kind kind_ = Kind::kNone;
  std::string folder_;
};

// The number after `key ` in a text of "key number" lines, 0 when there is none.
uint64_t NumberAfter(const std::string& text, const std::string& key);

// Up to 64 KiB of a file of /proc or /sys; empty when it cannot be read.
std::string ReadKernelFile(const std::string& path);

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_MEMORY_CGROUP_H_
