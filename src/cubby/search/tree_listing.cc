#include "cubby/search/tree_listing.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "cubby/base/status_macros.h"

namespace cubby::search {

absl::StatusOr<Summary> ListTree(const SearchRoot& root, const ListOptions& options,
                                 Sink<ListedEntry> sink) {
  CUBBY_RETURN_IF_ERROR(root.RequireFolder());
  Summary summary;
  Walker walker(root, options.walk, nullptr, &summary);
  ResultBatches<ListedEntry> results(options.max_results, sink, &summary);
  Walker::Entry entry;
  bool wanted = true;
  while (wanted && walker.Next(&entry)) {
    struct stat st {};
    if (const int error = walker.StatEntry(&st); error != 0) {
      if (error == ENOENT) {
        ++summary.vanished;
      } else {
        summary.AddUnreadable(root.Shown(entry.path));
      }
      continue;
    }
    wanted = results.Add({root.Shown(entry.path), TypeOfMode(st.st_mode),
                          static_cast<uint64_t>(st.st_size), absl::TimeFromTimespec(st.st_mtim)});
  }
  results.Flush();
  summary.Finish();
  return summary;
}

}  // namespace cubby::search
