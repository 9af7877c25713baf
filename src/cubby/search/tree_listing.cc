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
    ListedEntry listed{.path = root.Shown(entry.path), .status = st};
    if (S_ISLNK(st.st_mode)) listed.link_target = walker.LinkTarget();
    wanted = results.Add(std::move(listed));
  }
  results.Flush();
  summary.Finish();
  return summary;
}

}  // namespace cubby::search
