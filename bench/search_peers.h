// The tools of the host that search is measured against, told to pass over the same names.
#ifndef CUBBY_BENCH_SEARCH_PEERS_H_
#define CUBBY_BENCH_SEARCH_PEERS_H_

#include <stdint.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cubby::bench {

// fd, for *.py below `tree`.
std::vector<std::string> FdCommand(const std::string& tree, uint32_t threads);
// ripgrep with `arguments` (flags and the pattern) below `tree`. `ignore_file` holds the ignored
// names, a line each.
std::vector<std::string> RgCommand(const std::string& tree, const std::string& ignore_file,
                                   uint32_t threads, const std::vector<std::string>& arguments);
// grep and head as other systems run them for 100 results: a raw cap of max(4m, m + 50) lines and
// one past it. Their filter behind it is free here.
std::vector<std::string> PipelineCommand(const std::string& tree, const std::string& regex);

std::string IgnoreFileContent();

// Runs a program and counts the lines of its output.
absl::StatusOr<uint64_t> CountLinesOf(const std::vector<std::string>& argv);

}  // namespace cubby::bench

#endif  // CUBBY_BENCH_SEARCH_PEERS_H_
