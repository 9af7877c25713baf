// Walks a tree in path order with bounded memory.
//
// Order: folders before what is in them, and names of one folder by their bytes. That is the order
// of whole paths when the slash sorts below every other byte, so `a`, `a/x`, `a-b` in this order.
//
// Confinement: every folder is opened from its parent's descriptor without following a symlink, so
// no rename or link made during the walk leads out of the root. Symlinks are reported, not
// followed.
//
// Mounts below the root are entered, except pseudo file systems (/proc, /sys, ...), whose files may
// block or never end; a root that is itself on one is walked. A folder that is its own ancestor, as
// bind mounts can make it, is not entered again.
//
// Memory: the names of one folder must be sorted, so they are held in an arena of `arena_bytes`
// shared by the folders from the root to the current one. A folder with more names than fit is read
// several times, a window of its smallest names at a time: time for space, whatever its size. What
// the filter does not want takes no room. Beside it each level takes about 100 bytes, and 16 KiB
// when the arena is used up. Descriptors are kept for the first 64 levels only.
#ifndef CUBBY_SEARCH_WALKER_H_
#define CUBBY_SEARCH_WALKER_H_

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cubby/base/unique_fd.h"
#include "cubby/search/ignore_rules.h"
#include "cubby/search/name_window.h"
#include "cubby/search/search_root.h"
#include "cubby/search/summary.h"

namespace cubby::search {

struct WalkOptions {
  const IgnoreRules* ignore = nullptr;  // none when null; must outlive the walk
  uint64_t max_depth = kUnlimited;      // 1: the root's own entries only
  size_t arena_bytes = 8 << 20;
  Interrupt interrupt;
};

// What to do with an entry. Asked once for each entry and reading of its folder.
struct Verdict {
  bool report = true;
  bool descend = true;  // for folders
};

class EntryFilter {
 public:
  virtual ~EntryFilter() = default;
  // The entries judged next are in `folder`, relative to the root ("" is the root itself).
  virtual void EnterFolder(absl::string_view folder) = 0;
  virtual Verdict Judge(absl::string_view name, FileType type) = 0;
};

class Walker {
 public:
  struct Entry {
    absl::string_view path;  // relative to the root; valid until the next call of Next
    absl::string_view name;
    FileType type;
  };

  // `root` must be a folder. All are borrowed; `filter` may be null (everything is reported).
  Walker(const SearchRoot& root, const WalkOptions& options, EntryFilter* filter, Summary* summary);
  ~Walker();
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  // False at the end, or when the interrupt said so: then the summary is truncated.
  bool Next(Entry* entry);

  // The folder of the last entry, or null at great depth, where SearchRoot::OpenBelow opens by
  // path.
  [[nodiscard]] const std::shared_ptr<unique_fd>& folder_fd() const;
  // Opens the last entry. -errno in place of a descriptor.
  [[nodiscard]] int OpenEntry(int flags) const;
  // lstat(2) of the last entry; errno, or 0.
  [[nodiscard]] int StatEntry(struct stat* st) const;
  // Where the last entry, a symlink, points to; empty when it has gone.
  [[nodiscard]] std::string LinkTarget() const;

 private:
  struct Frame;

  void Push();
  void Pop();
  [[nodiscard]] int OpenFolder(struct stat* st);
  bool Entered(int fd, const struct stat& st);
  void ReadWindow(Frame& frame, int fd);
  void ReadNextWindow(Frame& frame);
  void Judge(Frame& frame, absl::string_view name, uint8_t d_type, int fd);
  bool Interrupted();
  void CountFailure(int error, absl::string_view path);
  [[nodiscard]] absl::string_view FolderPath(const Frame& frame) const;

  const SearchRoot& root_;
  const WalkOptions options_;
  EntryFilter* const filter_;
  Summary* const summary_;
  NameArena arena_;
  std::unique_ptr<char[]> buffer_;  // for getdents64
  std::vector<std::unique_ptr<Frame>> frames_;
  size_t depth_ = 0;  // frames in use; the others are kept for reuse
  std::string path_;
  size_t name_begin_ = 0;
  bool descend_ = false;  // into the last entry, before the next one
  bool root_is_pseudo_ = false;
  bool stopped_ = false;
  uint32_t ticks_ = 0;
};

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_WALKER_H_
