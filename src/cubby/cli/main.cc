#include <signal.h>

#include <string>
#include <vector>

#include "cubby/base/state_dir.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/command_line.h"
#include "cubby/image/store.h"
#include "cubby/provider.h"

namespace {

using cubby::cli::GlobalOptions;

absl::StatusOr<std::unique_ptr<cubby::SandboxProvider>> OpenProvider(const GlobalOptions& global) {
  return cubby::SandboxProvider::Open(
      {.state_dir = global.state_dir, .agent_path = global.agent, .runtime = global.runtime});
}

absl::StatusOr<std::unique_ptr<cubby::ImageStore>> OpenImages(const GlobalOptions& global) {
  CUBBY_ASSIGN_OR_RETURN(
      const cubby::StateDir state,
      cubby::StateDir::Open(global.state_dir.empty() ? cubby::StateDir::DefaultRoot()
                                                     : global.state_dir));
  return cubby::ImageStore::Open(state);
}

}  // namespace

int main(int argc, char** argv) {
  // A write to a reader that has gone away is an error to be handled, not the end.
  signal(SIGPIPE, SIG_IGN);
  return cubby::cli::CommandLine().Run(std::vector<std::string>(argv + 1, argv + argc),
                                       {.provider = OpenProvider, .images = OpenImages}, {});
}
