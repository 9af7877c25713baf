// Completion scripts for shells, from the declarations.
#ifndef CUBBY_CLI_COMPLETION_H_
#define CUBBY_CLI_COMPLETION_H_

#include <string>

#include "cubby/cli/declaration.h"

namespace cubby::cli {

std::string BashCompletion(const Verb& root);
std::string ZshCompletion(const Verb& root);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_COMPLETION_H_
