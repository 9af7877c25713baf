#include "cubby/mcp/server.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>

#include "cubby/base/status_macros.h"
#include "cubby/base/unique_fd.h"
#include "cubby/cli/context.h"
#include "cubby/cli/pull.h"
#include "cubby/cli/sandbox_options.h"
#include "cubby/cli/signal_relay.h"
#include "cubby/cli/verbs/verbs.h"
#include "cubby/mcp/session.h"
#include "cubby/status.h"

namespace cubby::cli {
namespace {

struct Options {
  SandboxOptions sandbox;
  std::string sandbox_id;
  std::vector<std::string> share;
  absl::Duration command_timeout = tools::ToolSettings{}.command_timeout;
};

absl::StatusOr<int> Serve(Context& context, const Options& options) {
  mcp::SessionOptions session_options{.sandbox_id = options.sandbox_id,
                                      .shared_folders = options.share};
  session_options.settings.command_timeout = options.command_timeout;
  CUBBY_ASSIGN_OR_RETURN(session_options.spec, SpecOf(options.sandbox));
  CUBBY_ASSIGN_OR_RETURN(session_options.provider, context.Provider());
  // Standard output is the protocol's: progress of a pull goes to standard error, as everywhere.
  session_options.ensure_image = [&](const std::string& image) {
    return EnsureImage(context, image, options.sandbox.pull).status();
  };
  if (!options.sandbox_id.empty()) {
    CUBBY_ASSIGN_OR_RETURN(session_options.sandbox_id, context.ResolveId(options.sandbox_id));
  }
  unique_fd stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return ErrnoError(errno, "eventfd");
  // A client ends its server by closing its input, or by a signal: the sandboxes go either way.
  SignalRelay relay;
  relay.SetHandler([&stop](int signal, int) {
    if (signal == SIGWINCH) return;
    const uint64_t one = 1;
    (void)!write(stop.get(), &one, sizeof(one));
  });
  CUBBY_ASSIGN_OR_RETURN(const std::unique_ptr<mcp::Session> session,
                         mcp::Session::Open(std::move(session_options)));
  mcp::Server(session.get(), CUBBY_VERSION).Serve(context.in(), context.out(), stop.get());
  CUBBY_RETURN_IF_ERROR(Annotate(session->Close(), "remove the session's sandboxes"));
  return 0;
}

}  // namespace

Verb McpVerb() {
  auto options = std::make_shared<Options>();
  Verb verb{
      .name = "mcp",
      .summary = "Serve sandbox tools to a coding agent over MCP",
      .description =
          "Speaks the Model Context Protocol on standard input and output. The agent gets bash, "
          "ls, "
          "read_file, write_file, str_replace, glob and grep in a sandbox of its own, which is "
          "made "
          "at the first use and removed at the end; it may make more, and put files in and get "
          "them out. Files in /mnt/user-data/outputs are its resources.\n\n"
          "With --sandbox, an existing sandbox is used and left as it is.",
      .options = {WithCompletion(Text("--sandbox", "ID", &options->sandbox_id,
                                      "use this sandbox, and do not remove it"),
                                 Completes::kSandbox),
                  WithCompletion(Texts("--share", "FOLDER", &options->share,
                                       "files may be uploaded from this folder of the host and "
                                       "downloaded to it; none if not given"),
                                 Completes::kFolder),
                  Span("--command-timeout", &options->command_timeout,
                       "the longest that a command may run")},
      .run = [options](Context& context) { return Serve(context, *options); }};
  for (Option& option : SandboxOptionDeclarations(&options->sandbox)) {
    verb.options.push_back(std::move(option));
  }
  return verb;
}

}  // namespace cubby::cli
