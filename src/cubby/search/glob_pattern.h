// Glob patterns: what a caller writes, compiled to a small automaton.
//
// The default rules are those of gitignore and ripgrep, for paths relative to a root:
//
//   *        any run of characters, none and leading dots included, never a slash
//   ?        one character but a slash (a UTF-8 sequence, or one byte that belongs to none)
//   **       as a whole segment: any number of folders, none included; as the last segment:
//            everything below. Elsewhere (`a**b`) it is `*`
//   [a-z]    one character of a class; [!a] and [^a] one that is not; `]` first is literal;
//            [[:alpha:]] and its kin are ASCII; a class never matches a slash
//   {a,b}    either, nested up to kMaxGlobDepth, slashes and `**` allowed inside
//   \x       x itself
//
// A pattern without a slash matches at any depth; one with a slash (outside classes) is anchored at
// the root. `./`, `.` segments and repeated slashes vanish. A trailing slash means folders only.
// Names are bytes and compared as such: no case folding, no normalization.
//
// GlobRules::kCompat is the reference's rule instead, F-10 to F-14: matched from the right, `**` is
// `*`, no braces, no escapes.
//
// Matching takes at most (pattern length x path length) steps, whatever the pattern.
#ifndef CUBBY_SEARCH_GLOB_PATTERN_H_
#define CUBBY_SEARCH_GLOB_PATTERN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cubby::search {

inline constexpr size_t kMaxGlobBytes = 64 << 10;
inline constexpr int kMaxGlobDepth = 32;

enum class GlobRules { kRecursive, kCompat };

// One step of the automaton. Characters are those of utf8.h.
struct GlobStep {
  enum class Op : uint8_t {
    kChar,      // the character `arg`
    kSet,       // a character of the set `arg`
    kNotSlash,  // any character but a slash
    kAny,       // any character
    kSplit,     // goes on at `next` and at `arg`, consuming nothing
    kMatch,
  };
  Op op;
  uint32_t arg;
  uint32_t next;
};

struct CharRange {
  uint32_t first;
  uint32_t last;
};

// Never holds the slash.
struct CharSet {
  bool negated = false;
  std::vector<CharRange> ranges;  // in the order written; may overlap
  [[nodiscard]] bool Contains(uint32_t c) const;
};

// Immutable, so threads may share one. GlobMatcher (glob_matcher.h) applies it.
class GlobPattern {
 public:
  // INVALID_ARGUMENT, saying what is wrong and at which byte: empty, too long, NUL, an unclosed or
  // unopened bracket, a reversed range, a `..` segment, a leading `!`, a trailing backslash.
  static absl::StatusOr<GlobPattern> Compile(absl::string_view pattern,
                                             GlobRules rules = GlobRules::kRecursive);

  [[nodiscard]] bool folders_only() const { return folders_only_; }
  [[nodiscard]] const std::vector<GlobStep>& steps() const { return *steps_; }
  [[nodiscard]] const std::vector<CharSet>& sets() const { return *sets_; }
  [[nodiscard]] uint32_t start() const { return start_; }

 private:
  GlobPattern() = default;

  bool folders_only_ = false;
  std::shared_ptr<const std::vector<GlobStep>> steps_;
  std::shared_ptr<const std::vector<CharSet>> sets_;
  uint32_t start_ = 0;
};

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_GLOB_PATTERN_H_
