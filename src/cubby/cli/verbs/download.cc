#include <sys/stat.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "cubby/base/host_tree.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

struct Options {
  std::string id;
  std::string path;
  std::string destination = ".";
  int64_t limit = DownloadOptions{}.limit_bytes;
};

absl::StatusOr<int64_t> Save(Sandbox& sandbox, const Options& options) {
  struct stat status = {};
  const bool is_folder =
      ::stat(options.destination.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  std::string folder = options.destination;
  std::string name(Basename(options.path));
  if (!is_folder) {
    const size_t slash = options.destination.rfind('/');
    name = slash == std::string::npos ? options.destination : options.destination.substr(slash + 1);
    folder = slash == std::string::npos ? "." : options.destination.substr(0, slash + 1);
  }
  CUBBY_ASSIGN_OR_RETURN(const HostTree tree, HostTree::Open(folder));
  int64_t bytes = 0;
  CUBBY_RETURN_IF_ERROR(tree.WriteFile(name, 0644, [&](const ByteSink& write) -> absl::Status {
    CUBBY_ASSIGN_OR_RETURN(
        bytes, sandbox.DownloadFileTo(options.path, {.limit_bytes = options.limit}, write));
    return absl::OkStatus();
  }));
  return bytes;
}

absl::StatusOr<int> Download(Context& context, const Options& options) {
  CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, context.FindSandbox(options.id));
  if (options.destination == "-") {
    CUBBY_RETURN_IF_ERROR(
        sandbox
            ->DownloadFileTo(options.path, {.limit_bytes = options.limit},
                             [&](absl::string_view bytes) { return context.Print(bytes); })
            .status());
    return 0;
  }
  CUBBY_ASSIGN_OR_RETURN(const int64_t bytes, Save(*sandbox, options));
  if (context.global.json) {
    Json object;
    PutBytes(&object, "path", options.path);
    object["bytes"] = bytes;
    CUBBY_RETURN_IF_ERROR(PrintJson(context, object));
  }
  return 0;
}

}  // namespace

Verb DownloadVerb() {
  auto options = std::make_shared<Options>();
  return {.name = "download",
          .summary = "Fetch a result from /mnt/user-data of a sandbox",
          .description =
              "The way for files that are handed to others: only what is below /mnt/user-data, and "
              "not more than a limit. 'cubby cp' copies everything else.",
          .options = {Size("--limit", &options->limit, "refuse a larger file")},
          .positionals = {Word("ID", &options->id, Completes::kSandbox,
                               "the sandbox, or the beginning of its id"),
                          Word("PATH", &options->path, Completes::kNothing, "the file"),
                          Word("DESTINATION", &options->destination, Completes::kFile,
                               "a file or folder here, or - for standard output; this folder if "
                               "not given",
                               Need::kOptional)},
          .run = [options](Context& context) { return Download(context, *options); }};
}

}  // namespace cubby::cli
