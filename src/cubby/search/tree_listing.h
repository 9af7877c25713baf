// Lists what is below a folder, with all that the file system says of it.
#ifndef CUBBY_SEARCH_TREE_LISTING_H_
#define CUBBY_SEARCH_TREE_LISTING_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "cubby/search/result_batches.h"
#include "cubby/search/search_root.h"
#include "cubby/search/summary.h"
#include "cubby/search/walker.h"

namespace cubby::search {

struct ListOptions {
  uint64_t max_results = kUnlimited;
  WalkOptions walk{.max_depth = 2};
};

struct ListedEntry {
  std::string path;         // SearchRoot::Shown, byte for byte as walked
  struct stat status;       // lstat(2): symlinks are themselves
  std::string link_target;  // of a symlink
};

// Delivers the entries in path order, the root excluded. FAILED_PRECONDITION when the root is not a
// folder.
absl::StatusOr<Summary> ListTree(const SearchRoot& root, const ListOptions& options,
                                 Sink<ListedEntry> sink);

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_TREE_LISTING_H_
