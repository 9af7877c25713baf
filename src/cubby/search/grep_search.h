// Finds lines by a pattern in the files below a folder, or in one file.
#ifndef CUBBY_SEARCH_GREP_SEARCH_H_
#define CUBBY_SEARCH_GREP_SEARCH_H_

#include "absl/status/statusor.h"
#include "cubby/search/grep_options.h"
#include "cubby/search/line_pattern.h"
#include "cubby/search/result_batches.h"
#include "cubby/search/search_root.h"
#include "cubby/search/summary.h"

namespace cubby::search {

// Delivers matching lines, files in path order and lines in theirs. A root that is a file is always
// a candidate, whatever its name (but not FIFOs, sockets and devices, which are counted). The sink
// is called on the calling thread only. INVALID_ARGUMENT: a glob for folders only, too many context
// lines.
//
// Memory beside the walk's: for each thread a file of up to max_file_bytes (at most 8 MiB of a
// larger one) once or twice, and with more than one thread 4 MiB of results that wait for their
// turn.
absl::StatusOr<Summary> GrepSearch(const SearchRoot& root, const LinePattern& pattern,
                                   const GrepOptions& options, Sink<GrepMatch> sink);

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_GREP_SEARCH_H_
