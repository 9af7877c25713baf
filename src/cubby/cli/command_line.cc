#include "cubby/cli/command_line.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/log.h"
#include "cubby/base/path.h"
#include "cubby/cli/help.h"
#include "cubby/cli/output.h"
#include "cubby/cli/parser.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

constexpr char kDescription[] =
    "Gives AI agents computers that they may break. A sandbox is made from an OCI image in "
    "milliseconds, is isolated from this machine and has no network; commands run in it, files are "
    "moved in and out, and it is removed. No daemon is needed: sandboxes live in a state directory "
    "and outlive the command that made them.";

void LogToStandardError(const GlobalOptions& global, int fd) {
  const Severity least = global.verbose ? Severity::kInfo : Severity::kWarning;
  SetLogSink([least, fd](Severity severity, absl::string_view message) {
    if (severity < least) return;
    const char* const kind = severity == Severity::kError     ? "error: "
                             : severity == Severity::kWarning ? "warning: "
                                                              : "";
    // The log is the last resort; there is nowhere left to say that it failed.
    WriteFully(fd, absl::StrCat("cubby: ", kind, Escape(message), "\n")).IgnoreError();
  });
}

}  // namespace

CommandLine::CommandLine() {
  const auto root = [this]() -> const Verb& { return root_; };
  root_.name = "cubby";
  root_.summary = "Run code in sandboxes";
  root_.description = kDescription;
  root_.options = {
      WithCompletion(Text("--state-dir", "FOLDER", &global_.state_dir,
                          "where sandboxes and images live; $CUBBY_STATE_DIR, else "
                          "/var/lib/cubby for root, else $XDG_STATE_HOME/cubby"),
                     Completes::kFolder),
      WithCompletion(Text("--runtime", "PROGRAM", &global_.runtime,
                          "the OCI runtime; crun, else runc if not given"),
                     Completes::kFile),
      WithCompletion(Text("--agent", "FILE", &global_.agent,
                          "the program that runs inside of sandboxes; $CUBBY_AGENT, else the "
                          "installed one"),
                     Completes::kFile),
      Flag("--json", &global_.json, "print the result, or the error, as one line of JSON"),
      Flag("-v,--verbose", &global_.verbose, "say more on standard error"),
      Flag("-h,--help", &help_, "say how a command is used"),
  };
  root_.verbs = {RunVerb(),
                 CreateVerb(),
                 ExecVerb(),
                 ExecutionsVerb(),
                 AttachVerb(),
                 SignalVerb(),
                 PsVerb(),
                 RmVerb(),
                 LogsVerb(),
                 StatsVerb(),
                 CpVerb(),
                 LsVerb(),
                 GlobVerb(),
                 GrepVerb(),
                 WatchVerb(),
                 ReadVerb(),
                 WriteVerb(),
                 DownloadVerb(),
                 McpVerb(),
                 ImageVerb(),
                 DoctorVerb(),
                 VersionVerb(),
                 CompletionVerb(root),
                 ManVerb(root)};
}

int CommandLine::Run(const std::vector<std::string>& words, Context::Engine engine,
                     Context::Descriptors descriptors) {
  Context context(std::move(engine), descriptors);
  const absl::StatusOr<Parsed> parsed = Parse(root_, words);
  context.global = global_;
  if (!global_.state_dir.empty() && global_.state_dir[0] != '/') {
    const std::unique_ptr<char, decltype(&free)> here(getcwd(nullptr, 0), &free);
    if (here != nullptr) context.global.state_dir = JoinPath(here.get(), global_.state_dir);
  }
  if (!parsed.ok()) {
    // A program that asked for JSON gets it also when its words were wrong.
    context.global.json = std::find(words.begin(), words.end(), "--json") != words.end();
    context.Report(parsed.status());
    return kOwnFailure;
  }
  LogToStandardError(global_, context.err());
  if (parsed->help || parsed->verb->run == nullptr) {
    const absl::Status printed = context.Print(HelpText(root_, *parsed->verb, parsed->path));
    return printed.ok() && parsed->help ? 0 : kOwnFailure;
  }
  context.command = parsed->command;
  const absl::StatusOr<int> code = parsed->verb->run(context);
  if (code.ok()) return *code;
  // A reader that has gone away (`cubby ps | head -1`) is no news to anybody.
  if (GetErrorDetail(code.status()).error_number == EPIPE) return 128 + SIGPIPE;
  context.Report(code.status());
  return kOwnFailure;
}

}  // namespace cubby::cli
