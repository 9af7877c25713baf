// What is asked of searches in a sandbox, and what they give. Sandbox::ListDir, Glob and Grep in
// sandbox.h search.
#ifndef CUBBY_SEARCH_H_
#define CUBBY_SEARCH_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cubby/file_type.h"

namespace cubby {

// Which entries a search passes over, by their name, wherever below its root. What is passed over
// is not entered. A root that is named by the caller is always looked at.
struct IgnoreOptions {
  bool defaults = true;  // 50 names of common clutter: .git, node_modules, build, *.log ... [F-1]
  std::vector<std::string> names;  // further ones; `*` stands for any run of bytes
};

// Why results may be missing.
enum class Truncation {
  kNone,        // every result was delivered
  kLimit,       // at least one more result exists than was asked for
  kDeadline,    // the time-out passed
  kCancelled,   // the sink wanted no more
  kUnreadable,  // folders or files could not be looked at
};

struct SearchSummary {
  // When several causes hold, the one that ended the search.
  Truncation truncation = Truncation::kNone;
  int64_t results = 0;         // delivered
  int64_t visited = 0;         // entries looked at
  int64_t ignored = 0;         // passed over by ignore rules; what is below is not counted
  int64_t unreadable = 0;      // folders and files that could not be opened, read or named
  int64_t vanished = 0;        // gone when their turn came
  int64_t pseudo_mounts = 0;   // /proc, /sys and their kin below the root, not entered
  int64_t loops = 0;           // folders that are their own ancestor (bind mounts), not entered
  int64_t utf16_files = 0;     // converted and searched
  int64_t skipped_binary = 0;  // a NUL byte in the first 8192
  int64_t skipped_too_large =
      0;                         // above GrepOptions::max_file_bytes, or a line too long to be held
  int64_t skipped_special = 0;   // FIFO, socket, device: never opened
  int64_t skipped_symlinks = 0;  // files that only a symlink leads to
  std::vector<std::string> unreadable_paths;  // the first ten

  [[nodiscard]] bool truncated() const { return truncation != Truncation::kNone; }
};

// Takes results in order, which it may move from. False: no more are wanted.
template <typename Result>
using ResultSink = std::function<bool(absl::Span<Result>)>;

enum class GlobRules {
  // As in gitignore and ripgrep: `**` any depth, a pattern without a slash matches at any depth,
  // one
  // with a slash is anchored at the root, {a,b}, [a-z], \x.
  kRecursive,
  // Matched from the right, `**` like `*`, no braces, no escapes. [F-10 to F-14]
  kCompat,
};

struct GlobOptions {
  GlobRules rules = GlobRules::kRecursive;
  bool include_directories = false;  // a pattern that ends in a slash gets them either way
  int64_t max_results = 200;         // at most 1,000,000
  IgnoreOptions ignore;
  absl::Duration timeout = absl::Seconds(60);
};

struct GlobMatch {
  std::string path;
  FileType type = FileType::kFile;  // symlinks are themselves
};

struct GlobResult {
  std::vector<GlobMatch> matches;
  SearchSummary summary;
};

enum class PatternSyntax { kRegex, kLiteral };
enum class LetterCase { kInsensitive, kSensitive };  // by Unicode

struct GrepOptions {
  PatternSyntax syntax = PatternSyntax::kRegex;
  LetterCase letter_case = LetterCase::kInsensitive;
  std::string glob;  // which files, by their path below the root; empty: all
  GlobRules rules = GlobRules::kRecursive;
  int64_t max_results = 100;  // matching lines; at most 1,000,000
  int context_before = 0;     // lines, at most 100
  int context_after = 0;
  int64_t max_file_bytes = 1'000'000;  // a larger file is skipped and counted [F-21]
  IgnoreOptions ignore;
  absl::Duration timeout = absl::Seconds(60);
};

struct ContextLine {
  std::string text;  // without its end, the first 200 characters
  bool cut_after = false;
};

// A matching line, with its first match.
struct GrepMatch {
  std::string path;
  int64_t line = 0;        // from 1; only LF ends a line
  int64_t column = 0;      // from 1, in bytes of the line as UTF-8
  std::string text;        // without its end; of a long line, 200 characters around the match
  size_t match_begin = 0;  // in `text`
  size_t match_end = 0;
  bool cut_before = false;  // the line begins before `text`
  bool cut_after = false;   // the line goes on after `text`
  bool utf16 = false;       // converted from UTF-16
  std::vector<ContextLine> before;
  std::vector<ContextLine> after;
};

struct GrepResult {
  std::vector<GrepMatch> matches;
  SearchSummary summary;
};

}  // namespace cubby

#endif  // CUBBY_SEARCH_H_
