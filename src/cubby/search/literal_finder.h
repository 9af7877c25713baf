// Finds a byte string in text, many bytes at a time.
#ifndef CUBBY_SEARCH_LITERAL_FINDER_H_
#define CUBBY_SEARCH_LITERAL_FINDER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace cubby::search {

enum class Letters { kExact, kFoldAscii };

// Compares two bytes of the needle, its rarest ones in ordinary text, at sixteen places at once and
// looks at the whole needle where both fit. Immutable, so threads may share one.
class LiteralFinder {
 public:
  // `needle` must not be empty.
  LiteralFinder(absl::string_view needle, Letters letters);

  // The first place at or after `from`, or npos. Linear in text and needle together, whatever they
  // hold.
  [[nodiscard]] size_t Find(absl::string_view text, size_t from) const;

  [[nodiscard]] const std::string& needle() const { return needle_; }

  static constexpr size_t npos = static_cast<size_t>(-1);

 private:
  struct Probe {
    size_t offset = 0;
    uint8_t byte = 0;
    uint8_t fold = 0;  // 0x20 where both cases of a letter count
  };
  [[nodiscard]] size_t NextCandidate(const char* text, size_t from, size_t places) const;
  [[nodiscard]] bool IsAt(const char* place) const;
  [[nodiscard]] size_t FindSlowly(absl::string_view text, size_t from) const;

  std::string needle_;  // in lower case when folding
  Letters letters_;
  Probe rarest_;
  Probe second_;
};

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_LITERAL_FINDER_H_
