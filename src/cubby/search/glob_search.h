// Finds entries by a pattern for their path.
#ifndef CUBBY_SEARCH_GLOB_SEARCH_H_
#define CUBBY_SEARCH_GLOB_SEARCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "cubby/search/glob_pattern.h"
#include "cubby/search/result_batches.h"
#include "cubby/search/search_root.h"
#include "cubby/search/summary.h"
#include "cubby/search/walker.h"

namespace cubby::search {

enum class Folders { kLeaveOut, kInclude };

struct GlobOptions {
  uint64_t max_results = 200;
  // A pattern that ends in a slash asks for folders, and gets them either way.
  Folders folders = Folders::kLeaveOut;
  WalkOptions walk;
};

struct GlobResult {
  std::string path;  // SearchRoot::Shown, byte for byte as walked
  FileType type;     // symlinks are themselves, whatever they point to
};

// Delivers what matches in path order; the root itself never does. FAILED_PRECONDITION when the
// root is not a folder.
absl::StatusOr<Summary> GlobSearch(const SearchRoot& root, const GlobPattern& pattern,
                                   const GlobOptions& options, Sink<GlobResult> sink);

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_GLOB_SEARCH_H_
