#include "cubby/cli/pull.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/output.h"
#include "cubby/cli/progress.h"
#include "cubby/cli/terminal.h"

namespace cubby::cli {

std::vector<Option> PullFlagDeclarations(PullFlags* flags) {
  return {
      Choice("--pull", "WHEN", &flags->policy, {"missing", "always", "never"},
             "when to fetch the image from its registry"),
      Flag("--plain-http", &flags->plain_http, "allow a registry without TLS"),
  };
}

absl::StatusOr<ImageInfo> PullWithProgress(Context& context, const std::string& reference,
                                           PullOptions options) {
  CUBBY_ASSIGN_OR_RETURN(ImageStore * images, context.Images());
  const std::optional<TerminalSize> size = SizeOfTerminal(context.err());
  Progress progress(context.err(), reference,
                    IsTerminal(context.err()) ? Progress::Style::kBar : Progress::Style::kLines,
                    size.value_or(TerminalSize{}).columns);
  options.progress = [&progress](const PullProgress& now) { progress.Show(now); };
  absl::StatusOr<ImageInfo> pulled = images->Pull(reference, options);
  if (pulled.ok() || absl::StrContains(pulled.status().message(), reference)) return pulled;
  return Annotate(pulled.status(), absl::StrCat("pull ", reference));
}

absl::StatusOr<ImageInfo> EnsureImage(Context& context, const std::string& reference,
                                      const PullFlags& flags) {
  if (flags.policy != "always") {
    CUBBY_ASSIGN_OR_RETURN(ImageStore * images, context.Images());
    absl::StatusOr<ImageInfo> found = images->Inspect(reference);
    if (found.ok() || !absl::IsNotFound(found.status())) return found;
    if (reference == BaseImageOptions{}.reference) {
      // It is made here; no registry has it.
      return absl::NotFoundError(
          absl::StrCat("the base image has not been made yet: 'cubby image build-base' does it in "
                       "about a minute; or name another with --image"));
    }
    if (flags.policy == "never") {
      return absl::NotFoundError(absl::StrCat(
          "the image ", reference, " is not in the store and --pull never forbids to fetch it; ",
          "'cubby image pull ", reference, "' does"));
    }
  }
  return PullWithProgress(context, reference, {.allow_plain_http = flags.plain_http});
}

}  // namespace cubby::cli
