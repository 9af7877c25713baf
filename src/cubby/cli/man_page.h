// The manual, from the declarations: as a man page and as Markdown.
#ifndef CUBBY_CLI_MAN_PAGE_H_
#define CUBBY_CLI_MAN_PAGE_H_

#include <string>

#include "cubby/cli/declaration.h"

namespace cubby::cli {

// cubby(1) in roff, for man(1).
std::string ManPage(const Verb& root);

// docs/cli.md.
std::string MarkdownManual(const Verb& root);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_MAN_PAGE_H_
