#include "promises.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cubby/base/file.h"
#include "cubby/base/status_macros.h"

namespace cubby::bench {

absl::StatusOr<std::map<std::string, Promise>> ReadPromises(const std::string& path) {
  CUBBY_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  std::map<std::string, Promise> promises;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    // What was measured is told below, in tables of its own.
    if (absl::StartsWith(line, "## ")) break;
    if (!absl::ConsumePrefix(&line, "| `")) continue;
    std::vector<std::string> cells = absl::StrSplit(line, '|');
    for (std::string& cell : cells) absl::StripAsciiWhitespace(&cell);
    if (cells.size() < 4) continue;
    Promise promise{.work = cells[1], .peer = cells[2]};
    absl::string_view words = cells[3];
    if (absl::ConsumePrefix(&words, "at least ")) {
      promise.kind = Promise::Kind::kAtLeast;
    } else if (!absl::ConsumePrefix(&words, "at most ")) {
      return absl::DataLossError(absl::StrCat(path, ": what is promised in: ", line));
    }
    const std::pair<absl::string_view, absl::string_view> number =
        absl::StrSplit(words, absl::MaxSplits(' ', 1));
    if (!absl::SimpleAtod(number.first, &promise.limit)) {
      return absl::DataLossError(absl::StrCat(path, ": no number in: ", line));
    }
    promise.unit = std::string(number.second);
    promises[std::string(absl::StripSuffix(cells[0], "`"))] = promise;
  }
  return promises;
}

}  // namespace cubby::bench
