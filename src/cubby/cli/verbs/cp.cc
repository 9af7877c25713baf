#include <algorithm>
#include <limits>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/copy.h"
#include "cubby/cli/input.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/output.h"
#include "cubby/cli/signal_relay.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

struct Options {
  std::string source;
  std::string destination;
};

// "ID:PATH". Anything with a slash before the colon is a path of this machine.
struct Place {
  std::string id;  // empty: this machine
  std::string path;
};

Place ParsePlace(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || colon > 16) return {.path = text};
  const absl::string_view id = absl::string_view(text).substr(0, colon);
  const bool hex = std::all_of(id.begin(), id.end(), [](char c) {
    return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
  });
  if (!hex) return {.path = text};
  return {.id = std::string(id), .path = text.substr(colon + 1)};
}

absl::Status CopyToStandardOutput(const Context& context, Sandbox& sandbox,
                                  const std::string& path) {
  return sandbox
      .ReadFileTo(path, {.limit_bytes = std::numeric_limits<int64_t>::max()},
                  [&context](absl::string_view bytes) { return context.Print(bytes); })
      .status();
}

absl::Status PrintReport(const Context& context, const CopyReport& report) {
  if (!context.global.json) {
    for (const CopyReport::Skipped& skipped : report.skipped) {
      context.Say(absl::StrCat("not copied: ", skipped.path, ": ", skipped.reason));
    }
    const auto unsaid = report.skipped_count - static_cast<int64_t>(report.skipped.size());
    if (unsaid > 0) context.Say(absl::StrCat("not copied: ", unsaid, " more"));
    context.SayVerbosely(absl::StrCat("copied ", report.files, " files, ", report.directories,
                                      " folders, ", report.symlinks, " symlinks, ", report.bytes,
                                      " bytes"));
    return absl::OkStatus();
  }
  Json skipped = Json::array();
  for (const CopyReport::Skipped& one : report.skipped) {
    Json entry;
    PutBytes(&entry, "path", one.path);
    PutBytes(&entry, "reason", one.reason);
    skipped.push_back(entry);
  }
  return PrintJson(context, {{"files", report.files},
                             {"directories", report.directories},
                             {"symlinks", report.symlinks},
                             {"bytes", report.bytes},
                             {"skipped", skipped},
                             {"skipped_count", report.skipped_count}});
}

absl::StatusOr<int> Copy(Context& context, const Options& options) {
  const Place source = ParsePlace(options.source);
  const Place destination = ParsePlace(options.destination);
  if (source.id.empty() == destination.id.empty()) {
    return absl::InvalidArgumentError(
        source.id.empty() ? "neither side names a sandbox; write it as ID:PATH"
                          : "both sides name a sandbox; copy to this machine in between");
  }
  CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox,
                         context.FindSandbox(source.id.empty() ? destination.id : source.id));
  if (destination.path == "-" && destination.id.empty()) {
    CUBBY_RETURN_IF_ERROR(CopyToStandardOutput(context, *sandbox, source.path));
    return 0;
  }
  CopyReport report;
  if (source.path == "-" && source.id.empty()) {
    CUBBY_ASSIGN_OR_RETURN(report.bytes, WriteFromInput(context, *sandbox, destination.path, {}));
    report.files = 1;
  } else if (source.id.empty()) {
    CUBBY_RETURN_IF_ERROR(CopyIn(source.path, *sandbox, destination.path, &report));
  } else {
    const SignalRelay relay;
    const absl::Status copied = CopyOut(
        *sandbox, source.path, destination.path, [&relay] { return relay.first_signal() != 0; },
        &report);
    if (relay.first_signal() != 0) return 128 + relay.first_signal();
    CUBBY_RETURN_IF_ERROR(copied);
  }
  CUBBY_RETURN_IF_ERROR(PrintReport(context, report));
  return report.skipped_count == 0 ? 0 : 1;
}

}  // namespace

Verb CpVerb() {
  auto options = std::make_shared<Options>();
  return {
      .name = "cp",
      .summary = "Copy files and folders into or out of a sandbox",
      .description =
          "One side is ID:PATH, a path in the sandbox; the other is a path here, or - for standard "
          "input or output (one file). A relative PATH is under /mnt/user-data/workspace. Write a "
          "path here that has a colon as ./a:b.\n\n"
          "As with cp -r, a folder that is there takes the copy in, otherwise the copy gets the "
          "destination's name; 'folder/.' means what is in the folder. Permission bits are kept, "
          "set-id bits and owners are not; a file replaces one of its name in one step.\n\n"
          "A sandbox cannot make a copy touch anything outside of the destination: no symlink "
          "there "
          "is followed. Symlinks are copied as symlinks, but out of a sandbox only those which "
          "stay "
          "in the copy. Those that do not, and files that are neither files nor folders, are left "
          "out: each is named and the exit code is 1.",
      .positionals = {Word("SOURCE", &options->source, Completes::kSandboxOrFile,
                           "what to copy: PATH, ID:PATH or -"),
                      Word("DESTINATION", &options->destination, Completes::kSandboxOrFile,
                           "where to: ID:PATH, PATH or -")},
      .run = [options](Context& context) { return Copy(context, *options); }};
}

}  // namespace cubby::cli
