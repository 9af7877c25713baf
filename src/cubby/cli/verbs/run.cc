#include <signal.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/foreground.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/pull.h"
#include "cubby/cli/sandbox_options.h"
#include "cubby/cli/signal_relay.h"
#include "cubby/cli/units.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

struct Options {
  SandboxOptions sandbox;
  CommandOptions command;
  bool keep = false;
  bool remove = false;
};

// Removes the sandbox on every way out of `run`, unless it is to be kept.
class RemovedAtEnd {
 public:
  RemovedAtEnd(const Context& context, SandboxProvider& provider, std::string id)
      : context_(context), provider_(provider), id_(std::move(id)) {}
  RemovedAtEnd(const RemovedAtEnd&) = delete;
  RemovedAtEnd& operator=(const RemovedAtEnd&) = delete;
  ~RemovedAtEnd() {
    if (absl::Status removed = Remove(); !removed.ok()) context_.Say(removed.message());
  }
  void Keep() { id_.clear(); }
  absl::Status Remove() {
    const std::string id = std::exchange(id_, {});
    if (id.empty()) return absl::OkStatus();
    return Annotate(provider_.Remove(id),
                    absl::StrCat("remove the sandbox ", id, " (try 'cubby rm ", id, "' again)"));
  }

 private:
  const Context& context_;
  SandboxProvider& provider_;
  std::string id_;
};

// The words given, else what the image says.
std::vector<std::string> WordsToRun(const Context& context, const ImageInfo& image) {
  if (!context.command.empty()) return context.command;
  std::vector<std::string> words = image.config.entrypoint;
  words.insert(words.end(), image.config.command.begin(), image.config.command.end());
  return words;
}

void SayStages(const Context& context, const std::string& id, const std::vector<Stage>& stages) {
  if (!context.global.verbose) return;
  std::string line = absl::StrCat("sandbox ", id);
  for (const Stage& stage : stages) {
    absl::StrAppend(&line, ", ", stage.name, " ", FormatSpan(stage.duration));
  }
  context.Say(line);
}

absl::StatusOr<int> Run(Context& context, const Options& options) {
  if (options.keep && options.remove) {
    return absl::InvalidArgumentError("--keep and --rm contradict each other; give one of them");
  }
  CUBBY_ASSIGN_OR_RETURN(const StartOptions start, StartOptionsOf(context, options.command));
  CUBBY_ASSIGN_OR_RETURN(const SandboxSpec spec, SpecOf(options.sandbox));
  CUBBY_ASSIGN_OR_RETURN(const ImageInfo image,
                         EnsureImage(context, spec.image, options.sandbox.pull));
  const bool scripted = !options.command.script.empty();
  CUBBY_ASSIGN_OR_RETURN(
      const Command command,
      CommandToRun(options.command, scripted ? context.command : WordsToRun(context, image)));
  CUBBY_ASSIGN_OR_RETURN(SandboxProvider * provider, context.Provider());

  // From here on a signal must not end us before the sandbox is gone.
  SignalRelay relay;
  CUBBY_ASSIGN_OR_RETURN(Created created, provider->Create(spec));
  const std::string id = created.sandbox->id();
  RemovedAtEnd removed(context, *provider, id);
  SayStages(context, id, created.stages);
  if (const int signal = relay.first_signal(); signal != 0) return 128 + signal;
  if (options.keep) {
    removed.Keep();
    if (!context.global.json) context.Say(absl::StrCat("sandbox ", id));
  }
  absl::StatusOr<std::unique_ptr<Execution>> execution = created.sandbox->Start(command, start);
  if (!execution.ok()) {
    context.Report(execution.status());
    return ExitCodeOfStartError(command, execution.status());
  }
  CUBBY_ASSIGN_OR_RETURN(
      const ExecResult result,
      WaitInForeground(context, relay, **execution, ForegroundOptionsOf(context, options.command)));
  execution->reset();
  created.sandbox.reset();
  Explain(context, result, start.timeout);
  const absl::Status gone = removed.Remove();
  if (context.global.json) {
    Json object = {{"id", id}};
    object.update(ExecResultJson(result));
    object["kept"] = options.keep;
    object["stages"] = StagesJson(created.stages);
    if (!gone.ok()) object["remove_error"] = ErrorJson(gone)["error"];
    CUBBY_RETURN_IF_ERROR(PrintJson(context, object));
  } else if (!gone.ok()) {
    context.Say(gone.message());
  }
  return ExitCodeOf(result);
}

}  // namespace

Verb RunVerb() {
  auto options = std::make_shared<Options>();
  Verb verb{
      .name = "run",
      .summary = "Run a command in a new sandbox and remove the sandbox",
      .description =
          "Output comes as the command writes it, and the exit code is the command's. Without a "
          "command, what the image says is run. A signal is forwarded to the command; a second one "
          "kills it. The sandbox is removed in every case, unless --keep is given.\n\n"
          "With --image, the first word that is no option starts the command; without, the first "
          "word is the image. A -- starts the command in any case.",
      .positionals = {ImagePositional(&options->sandbox)},
      .command_words = CommandWords::kAccepted,
      .run = [options](Context& context) { return Run(context, *options); }};
  for (Option& option : SandboxOptionDeclarations(&options->sandbox)) {
    verb.options.push_back(std::move(option));
  }
  for (Option& option : CommandOptionDeclarations(&options->command)) {
    verb.options.push_back(std::move(option));
  }
  verb.options.push_back(Flag("--keep", &options->keep, "do not remove the sandbox at the end"));
  verb.options.push_back(
      Flag("--rm", &options->remove, "remove the sandbox at the end, as is done without --keep"));
  return verb;
}

}  // namespace cubby::cli
