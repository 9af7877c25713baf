#include <memory>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/verbs/image.h"

namespace cubby::cli {
namespace {

struct Options {
  BaseImageOptions image;
  std::vector<std::string> more_packages;
};

absl::StatusOr<int> BuildBase(Context& context, const Options& options) {
  CUBBY_ASSIGN_OR_RETURN(ImageStore * images, context.Images());
  BaseImageOptions build = options.image;
  build.packages.insert(build.packages.end(), options.more_packages.begin(),
                        options.more_packages.end());
  build.progress = [&context](absl::string_view line) { context.Say(line); };
  CUBBY_ASSIGN_OR_RETURN(const ImageInfo image, images->BuildBase(build));
  CUBBY_RETURN_IF_ERROR(PrintImage(context, image));
  return 0;
}

}  // namespace

Verb ImageBuildBaseVerb() {
  auto options = std::make_shared<Options>();
  return {
      .name = "build-base",
      .summary = "Make a small Debian image with Python from Debian packages",
      .description =
          "The image that 'cubby run' uses when none is named. Takes about a minute, needs "
          "root, mmdebstrap and the package sources of this machine.",
      .options = {Text("--suite", "NAME", &options->image.suite, "the Debian release"),
                  Texts("-p,--package", "NAME", &options->more_packages,
                        "one more package to be in it")},
      .positionals = {Word("IMAGE", &options->image.reference, Completes::kNothing,
                           absl::StrCat("its name; ", options->image.reference, " if not given"),
                           Need::kOptional)},
      .run = [options](Context& context) { return BuildBase(context, *options); }};
}

}  // namespace cubby::cli
