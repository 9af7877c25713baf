// The whole command: all verbs, and what happens from the words to the exit code.
#ifndef CUBBY_CLI_COMMAND_LINE_H_
#define CUBBY_CLI_COMMAND_LINE_H_

#include <memory>
#include <string>
#include <vector>

#include "cubby/cli/context.h"
#include "cubby/cli/declaration.h"

namespace cubby::cli {

class CommandLine {
 public:
  CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] const Verb& root() const { return root_; }

  // Once: the words set the variables of the declarations.
  int Run(const std::vector<std::string>& words, Context::Engine engine,
          Context::Descriptors descriptors);

 private:
  GlobalOptions global_;
  bool help_ = false;
  Verb root_;
};

}  // namespace cubby::cli

#endif  // CUBBY_CLI_COMMAND_LINE_H_
