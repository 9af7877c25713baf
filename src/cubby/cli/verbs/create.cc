#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/env_policy.h"
#include "cubby/base/ids.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/pull.h"
#include "cubby/cli/sandbox_options.h"
#include "cubby/cli/signal_relay.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

struct Options {
  SandboxOptions sandbox;
  std::vector<std::string> environment;
  std::string user;
  std::string id;
};

absl::StatusOr<int> Create(Context& context, const Options& options) {
  CUBBY_ASSIGN_OR_RETURN(SandboxSpec spec, SpecOf(options.sandbox));
  for (const std::string& entry : options.environment) {
    CUBBY_RETURN_IF_ERROR(ParseEnvironmentEntry(entry, &spec.environment));
  }
  if (!options.id.empty() && !IsSandboxId(options.id)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--id ", options.id, " is not an id; it has 16 digits of 0-9 and a-f"));
  }
  spec.id = options.id;
  spec.user = options.user;
  CUBBY_RETURN_IF_ERROR(EnsureImage(context, spec.image, options.sandbox.pull).status());
  CUBBY_ASSIGN_OR_RETURN(SandboxProvider * provider, context.Provider());
  SignalRelay relay;
  CUBBY_ASSIGN_OR_RETURN(const Created created, provider->Create(spec));
  const std::string id = created.sandbox->id();
  if (relay.first_signal() != 0) {
    // Nobody would learn its id.
    CUBBY_RETURN_IF_ERROR(provider->Remove(id));
    return 128 + relay.first_signal();
  }
  if (context.global.json) {
    return PrintJson(context, {{"id", id}, {"stages", StagesJson(created.stages)}}).ok()
               ? 0
               : kOwnFailure;
  }
  CUBBY_RETURN_IF_ERROR(context.Print(absl::StrCat(id, "\n")));
  return 0;
}

}  // namespace

Verb CreateVerb() {
  auto options = std::make_shared<Options>();
  Verb verb{.name = "create",
            .summary = "Make a sandbox and print its id",
            .description = "The sandbox lives until 'cubby rm' removes it.",
            .options = SandboxOptionDeclarations(&options->sandbox),
            .positionals = {ImagePositional(&options->sandbox)},
            .run = [options](Context& context) { return Create(context, *options); }};
  verb.options.push_back(Texts("-e,--env", "KEY=VALUE", &options->environment,
                               "set a variable for every command of the sandbox"));
  verb.options.push_back(Text("-u,--user", "USER", &options->user,
                              "name, uid or uid:gid of its commands; the image's if not given"));
  verb.options.push_back(
      Text("--id", "ID", &options->id, "16 hex digits; a random id if not given"));
  return verb;
}

}  // namespace cubby::cli
