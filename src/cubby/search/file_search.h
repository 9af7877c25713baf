// Finds the matching lines of one file.
#ifndef CUBBY_SEARCH_FILE_SEARCH_H_
#define CUBBY_SEARCH_FILE_SEARCH_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "cubby/search/grep_options.h"
#include "cubby/search/line_pattern.h"
#include "cubby/search/summary.h"
#include "cubby/search/text_reader.h"

namespace cubby::search {

// Reusable, one file after the other; not thread-safe.
class FileSearch {
 public:
  // False: no more are wanted.
  using Emit = absl::FunctionRef<bool(GrepMatch)>;

  // Both are borrowed.
  FileSearch(const LinePattern& pattern, const GrepOptions& options)
      : pattern_(pattern), options_(options), reader_(options.max_file_bytes) {}

  // `fd` is borrowed; negative, it is -errno of the failed opening. What was passed over is counted
  // in `summary`. False when the search is over.
  bool Search(int fd, const std::string& shown, Summary* summary, Emit emit);

 private:
  bool SearchText(const std::string& shown, Summary* summary, Emit emit);
  void Count(TextOutcome outcome, const std::string& shown, Summary* summary);
  [[nodiscard]] size_t SearchableEnd() const;
  [[nodiscard]] size_t HistoryBegin(size_t at) const;
  [[nodiscard]] GrepMatch Describe(const std::string& shown, size_t line_begin, size_t line_end,
                                   const LineMatch& match) const;

  const LinePattern& pattern_;
  const GrepOptions& options_;
  TextReader reader_;
  LineScan scan_;
};

// Counts a file that could not be opened or read.
void CountFileError(int error_number, const std::string& shown, Summary* summary);

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_FILE_SEARCH_H_
