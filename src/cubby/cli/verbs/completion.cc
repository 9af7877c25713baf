#include "cubby/cli/completion.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {

Verb CompletionVerb(std::function<const Verb&()> root) {
  auto shell = std::make_shared<std::string>();
  return {.name = "completion",
          .summary = "Print a completion script for a shell",
          .description =
              "For bash: eval \"$(cubby completion bash)\" in ~/.bashrc. For zsh: cubby "
              "completion zsh > a folder of $fpath, as _cubby.",
          .positionals = {Word("SHELL", shell.get(), Completes::kNothing, "bash or zsh")},
          .run = [shell, root = std::move(root)](Context& context) -> absl::StatusOr<int> {
            if (*shell != "bash" && *shell != "zsh") {
              return absl::InvalidArgumentError(
                  absl::StrCat("there is no completion for '", *shell, "'; there is bash and zsh"));
            }
            CUBBY_RETURN_IF_ERROR(
                context.Print(*shell == "bash" ? BashCompletion(root()) : ZshCompletion(root())));
            return 0;
          }};
}

}  // namespace cubby::cli
