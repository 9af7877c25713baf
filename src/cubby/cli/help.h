// The help text of a verb, from its declaration.
#ifndef CUBBY_CLI_HELP_H_
#define CUBBY_CLI_HELP_H_

#include <string>

#include "absl/strings/string_view.h"
#include "cubby/cli/declaration.h"

namespace cubby::cli {

// "cubby exec [OPTIONS] ID [--] COMMAND..."
std::string UsageLine(const Verb& verb, absl::string_view path);

// "-e, --env KEY=VALUE"
std::string OptionSyntax(const Option& option);
// The help with its default, choices and whether it may be repeated.
std::string OptionHelp(const Option& option);

std::string HelpText(const Verb& root, const Verb& verb, absl::string_view path);

// The exit codes, one "code<TAB>meaning" per line; the same for help, man page and manual.
std::string ExitCodes();

}  // namespace cubby::cli

#endif  // CUBBY_CLI_HELP_H_
