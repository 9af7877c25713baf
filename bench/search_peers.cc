#include "search_peers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cubby/base/status_macros.h"
#include "cubby/base/subprocess.h"
#include "cubby/search/ignore_rules.h"

namespace cubby::bench {

std::vector<std::string> FdCommand(const std::string& tree, uint32_t threads) {
  std::vector<std::string> command = {"fdfind", "--no-ignore", "--hidden", "--glob"};
  for (absl::string_view name : search::IgnoreRules::DefaultNames()) {
    command.insert(command.end(), {"--exclude", std::string(name)});
  }
  command.insert(command.end(), {"--threads", absl::StrCat(threads), "*.py", tree});
  return command;
}

std::vector<std::string> RgCommand(const std::string& tree, const std::string& ignore_file,
                                   uint32_t threads, const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"rg",
                                      "--no-ignore",
                                      "--hidden",
                                      "--no-heading",
                                      "--line-number",
                                      "--ignore-file",
                                      ignore_file,
                                      absl::StrCat("-j", threads)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.push_back(tree);
  return command;
}

std::vector<std::string> PipelineCommand(const std::string& tree, const std::string& regex) {
  return {"sh", "-c",
          absl::StrCat("grep -rHnIi -E '", regex, "' ", tree, " 2>/dev/null | head -n 401")};
}

std::string IgnoreFileContent() {
  return absl::StrJoin(search::IgnoreRules::DefaultNames(), "\n") + "\n";
}

absl::StatusOr<uint64_t> CountLinesOf(const std::vector<std::string>& argv) {
  CUBBY_ASSIGN_OR_RETURN(
      const CommandOutput output,
      RunCommand({.argv = argv, .environment = {"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}},
                 Deadline::After(absl::Minutes(5)), {}, 256 << 20));
  return static_cast<uint64_t>(std::count(output.out.begin(), output.out.end(), '\n'));
}

}  // namespace cubby::bench
