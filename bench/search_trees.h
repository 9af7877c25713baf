// The trees that the search benchmark searches.
#ifndef CUBBY_BENCH_SEARCH_TREES_H_
#define CUBBY_BENCH_SEARCH_TREES_H_

#include <string>

#include "absl/status/status.h"

namespace cubby::bench {

// Text that a few files of the source tree hold, and a name that very many lines hold.
inline constexpr char kRareText[] = "quixotic_frobnicator";
inline constexpr char kCommonRegex[] = "(get|set)_[a-z]+\\(";

// 100,000 files as in a checkout: 60,000 of them in node_modules, 10,000 of Python.
absl::Status MakeCheckout(const std::string& path);
// 20,000 source files, about 120 MB.
absl::Status MakeSources(const std::string& path);
// One million empty files in 10,000 folders.
absl::Status MakeMillion(const std::string& path);
// One million empty files in one folder.
absl::Status MakeFlat(const std::string& path);

}  // namespace cubby::bench

#endif  // CUBBY_BENCH_SEARCH_TREES_H_
