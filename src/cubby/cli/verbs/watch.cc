#include <memory>

#include "absl/strings/str_cat.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/output.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

struct Options {
  std::string id;
  std::string path = kWorkspace;
  absl::Duration timeout = absl::Hours(24);
  int64_t count = 0;
};

const char* KindName(WatchEvent::Kind kind) {
  switch (kind) {
    case WatchEvent::Kind::kCreated:
      return "created";
    case WatchEvent::Kind::kModified:
      return "modified";
    case WatchEvent::Kind::kRemoved:
      return "removed";
    case WatchEvent::Kind::kMoved:
      return "moved";
    case WatchEvent::Kind::kAttributes:
      return "attributes";
    case WatchEvent::Kind::kOverflow:
      return "overflow";
  }
  return "unknown";
}

absl::StatusOr<int> Watch(Context& context, const Options& options) {
  CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, context.FindSandbox(options.id));
  absl::Status printed;
  int64_t seen = 0;
  CUBBY_RETURN_IF_ERROR(sandbox->Watch(
      options.path, options.timeout,
      [&] { context.SayVerbosely(absl::StrCat("watching ", options.path)); },
      [&](const WatchEvent& event) {
        if (context.global.json) {
          Json object{{"kind", KindName(event.kind)}};
          PutBytes(&object, "path", event.path);
          printed = PrintJson(context, object);
        } else {
          printed = context.Print(
              absl::StrCat(KindName(event.kind), " ", ForPeople(context.out(), event.path), "\n"));
        }
        return printed.ok() && ++seen != options.count;
      }));
  CUBBY_RETURN_IF_ERROR(printed);
  return 0;
}

}  // namespace

Verb WatchVerb() {
  auto options = std::make_shared<Options>();
  return {.name = "watch",
          .summary = "Tell what changes in a folder of a sandbox",
          .description =
              "One line per change, as it happens, in the folder and all folders below it. "
              "'overflow' means that changes were lost: look again. With --json each line is an "
              "object.",
          .options = {Integer("--count", "N", &options->count, 0,
                              "end after so many changes; 0: go on"),
                      Span("--timeout", &options->timeout, "end after this time")},
          .positionals = {Word("ID", &options->id, Completes::kSandbox,
                               "the sandbox, or the beginning of its id"),
                          Word("PATH", &options->path, Completes::kNothing,
                               "the folder; the workspace if not given", Need::kOptional)},
          .run = [options](Context& context) { return Watch(context, *options); }};
}

}  // namespace cubby::cli
