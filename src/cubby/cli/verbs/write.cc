#include <memory>

#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/input.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/units.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

struct Options {
  std::string id;
  std::string path;
  std::string mode;
  bool append = false;
};

absl::StatusOr<int> Write(Context& context, const Options& options) {
  WriteOptions write;
  if (options.append) write.write_mode = WriteMode::kAppend;
  if (!options.mode.empty()) {
    CUBBY_ASSIGN_OR_RETURN(write.mode, ParseMode(options.mode));
  }
  CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, context.FindSandbox(options.id));
  CUBBY_ASSIGN_OR_RETURN(const int64_t bytes,
                         WriteFromInput(context, *sandbox, options.path, write));
  if (context.global.json) {
    Json object;
    PutBytes(&object, "path", options.path);
    object["bytes"] = bytes;
    CUBBY_RETURN_IF_ERROR(PrintJson(context, object));
  }
  return 0;
}

}  // namespace

Verb WriteVerb() {
  auto options = std::make_shared<Options>();
  return {.name = "write",
          .summary = "Write standard input to a file of a sandbox",
          .description =
              "The file is replaced in one step when all is there; missing folders are made.",
          .options = {Flag("-a,--append", &options->append, "add to the end of the file"),
                      Text("--mode", "MODE", &options->mode,
                           "permission bits of a new file, in octal; 0644 if not given")},
          .positionals = {Word("ID", &options->id, Completes::kSandbox,
                               "the sandbox, or the beginning of its id"),
                          Word("PATH", &options->path, Completes::kNothing, "the file")},
          .run = [options](Context& context) { return Write(context, *options); }};
}

}  // namespace cubby::cli
