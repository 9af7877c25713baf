// From the words of a command line to a verb whose variables are set.
#ifndef CUBBY_CLI_PARSER_H_
#define CUBBY_CLI_PARSER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cubby/cli/declaration.h"

namespace cubby::cli {

struct Parsed {
  const Verb* verb = nullptr;  // may be one that only has verbs below it: its help is wanted
  std::string path;            // "image pull"; empty for the root
  bool help = false;           // -h or --help was given
  std::vector<std::string> command;
};

// `root.options` may stand anywhere before the command. INVALID_ARGUMENT says which word is wrong
// and what is allowed. Of words like `exec ID ls -l`, the command starts after the positionals; a
// `--` starts it in any case, and is needed where the command would look like a positional.
absl::StatusOr<Parsed> Parse(const Verb& root, const std::vector<std::string>& words);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_PARSER_H_
