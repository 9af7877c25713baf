#include <memory>
#include <utility>

#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/man_page.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {

Verb ManVerb(std::function<const Verb&()> root) {
  auto markdown = std::make_shared<bool>(false);
  return {
      .name = "man",
      .summary = "Print the manual",
      .description = "As a page for man(1), which 'man -l' shows.",
      .options = {Flag("--markdown", markdown.get(), "in Markdown instead")},
      .run = [markdown, root = std::move(root)](Context& context) -> absl::StatusOr<int> {
        CUBBY_RETURN_IF_ERROR(context.Print(*markdown ? MarkdownManual(root()) : ManPage(root())));
        return 0;
      }};
}

}  // namespace cubby::cli
