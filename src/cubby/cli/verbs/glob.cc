#include <memory>

#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/copy.h"
#include "cubby/cli/output.h"
#include "cubby/cli/search_output.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

struct Options {
  std::string id;
  std::string root;
  std::string pattern;
  GlobOptions glob;
  bool compat = false;
  bool no_ignore = false;
  bool nul = false;
};

absl::StatusOr<int> Print(Context& context, const Options& options, Sandbox& sandbox) {
  absl::Status printed;
  CUBBY_ASSIGN_OR_RETURN(
      const SearchSummary summary,
      sandbox.GlobTo(options.root, options.pattern, options.glob,
                     [&](absl::Span<GlobMatch> matches) {
                       std::string text;
                       for (const GlobMatch& match : matches) {
                         text += options.nul ? match.path : ForPeople(context.out(), match.path);
                         text += options.nul ? '\0' : '\n';
                       }
                       printed = context.Print(text);
                       return printed.ok();
                     }));
  CUBBY_RETURN_IF_ERROR(printed);
  SaySummary(context, summary, "--max-results");
  return SearchExitCode(summary);
}

absl::StatusOr<int> PrintAsJson(Context& context, const Options& options, Sandbox& sandbox) {
  CUBBY_ASSIGN_OR_RETURN(const GlobResult result,
                         sandbox.Glob(options.root, options.pattern, options.glob));
  Json matches = Json::array();
  for (const GlobMatch& match : result.matches) {
    Json object;
    PutBytes(&object, "path", match.path);
    object["type"] = FileTypeName(match.type);
    matches.push_back(object);
  }
  CUBBY_RETURN_IF_ERROR(PrintJson(context, WithSummary({{"matches", matches}}, result.summary)));
  return SearchExitCode(result.summary);
}

absl::StatusOr<int> Glob(Context& context, Options& options) {
  options.glob.rules = options.compat ? GlobRules::kCompat : GlobRules::kRecursive;
  options.glob.ignore.defaults = !options.no_ignore;
  CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, context.FindSandbox(options.id));
  return context.global.json ? PrintAsJson(context, options, *sandbox)
                             : Print(context, options, *sandbox);
}

}  // namespace

Verb GlobVerb() {
  auto options = std::make_shared<Options>();
  return {
      .name = "glob",
      .summary = "Find files in a sandbox by a pattern for their path",
      .description =
          "Patterns are those of gitignore: * and ? stay within a name, ** is any number of "
          "folders, {a,b} and [a-z] work. One without a slash matches at any depth, one with a "
          "slash is anchored at ROOT.\n\n"
          "Paths are printed in order while the search goes on. The exit code is 0 when something "
          "was found, 1 when there is nothing, and 2 when nothing was found but not everything "
          "was seen; standard error says what is missing.",
      .options = {Integer("--max-results", "N", &options->glob.max_results, 0,
                          "at most so many paths"),
                  Flag("--include-dirs", &options->glob.include_directories, "folders too"),
                  Flag("--compat", &options->compat,
                       "match from the right, with ** like *, without braces and escapes"),
                  Flag("--no-ignore", &options->no_ignore,
                       "look into common clutter too, such as .git and node_modules"),
                  Texts("--ignore", "NAME", &options->glob.ignore.names,
                        "pass over entries of this name too; * stands for anything"),
                  Span("--timeout", &options->glob.timeout, "how long it may take"),
                  Flag("-0,--null", &options->nul,
                       "end each path with a NUL byte in place of a newline")},
      .positionals = {Word("ID", &options->id, Completes::kSandbox,
                           "the sandbox, or the beginning of its id"),
                      Word("ROOT", &options->root, Completes::kNothing, "the folder to look in"),
                      Word("PATTERN", &options->pattern, Completes::kNothing, "the pattern")},
      .run = [options](Context& context) { return Glob(context, *options); }};
}

}  // namespace cubby::cli
