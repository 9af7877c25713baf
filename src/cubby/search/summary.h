// What a search did, and what it did not see.
#ifndef CUBBY_SEARCH_SUMMARY_H_
#define CUBBY_SEARCH_SUMMARY_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cubby/base/deadline.h"

namespace cubby::search {

inline constexpr uint64_t kUnlimited = UINT64_MAX;

// Why results may be missing. When several hold, the one that ended the search is given.
enum class Truncation {
  kNone,        // every result was delivered
  kLimit,       // at least one more result exists than was asked for
  kDeadline,    // the deadline passed
  kCancelled,   // the caller cancelled, or its sink wanted no more
  kUnreadable,  // folders or files could not be looked at
};

// Files that a content search passed over, by reason. None of these makes it truncated.
struct SkippedFiles {
  uint64_t binary = 0;     // a NUL byte in the first 8192
  uint64_t too_large = 0;  // above the size limit, or with a line longer than can be held
  uint64_t special = 0;    // FIFO, socket, device: never opened
  uint64_t symlinks = 0;   // never followed below the root

  void Add(const SkippedFiles& other) {
    binary += other.binary;
    too_large += other.too_large;
    special += other.special;
    symlinks += other.symlinks;
  }
};

struct Summary {
  Truncation truncation = Truncation::kNone;
  uint64_t results = 0;        // delivered
  uint64_t visited = 0;        // entries looked at, ignored ones not included
  uint64_t ignored = 0;        // entries passed over by ignore rules; what is below is not counted
  uint64_t unreadable = 0;     // folders and files that could not be opened, read or named
  uint64_t vanished = 0;       // gone, or of another kind, when their turn came
  uint64_t pseudo_mounts = 0;  // /proc, /sys and their kin below the root, not entered
  uint64_t loops = 0;          // folders that are their own ancestor (bind mounts), not entered
  uint64_t utf16_files = 0;    // converted and searched
  SkippedFiles skipped;
  // Shown paths of the first few of `unreadable`.
  std::vector<std::string> unreadable_paths;

  [[nodiscard]] bool truncated() const { return truncation != Truncation::kNone; }
  // The first cause stays.
  void Truncate(Truncation cause) {
    if (truncation == Truncation::kNone) truncation = cause;
  }
  void AddUnreadable(std::string shown_path) {
    ++unreadable;
    if (unreadable_paths.size() < kMaxUnreadablePaths) {
      unreadable_paths.push_back(std::move(shown_path));
    }
  }
  // Takes over what a part of the search counted.
  void Add(Summary part) {
    Truncate(part.truncation);
    visited += part.visited;
    ignored += part.ignored;
    vanished += part.vanished;
    utf16_files += part.utf16_files;
    skipped.Add(part.skipped);
    unreadable += part.unreadable - part.unreadable_paths.size();
    for (std::string& path : part.unreadable_paths) AddUnreadable(std::move(path));
  }
  // After all was looked at that could be.
  void Finish() {
    if (unreadable > 0) Truncate(Truncation::kUnreadable);
  }

  static constexpr size_t kMaxUnreadablePaths = 10;
};

// When to stop early. Looked at often; both ends of it are cheap.
struct Interrupt {
  Deadline deadline = Deadline::Infinite();
  const std::atomic<bool>* cancelled = nullptr;  // may be null; must outlive the search

  [[nodiscard]] Truncation Check() const {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
      return Truncation::kCancelled;
    }
    return deadline.Expired() ? Truncation::kDeadline : Truncation::kNone;
  }
};

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_SUMMARY_H_
