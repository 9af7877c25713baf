#include <algorithm>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/output.h"
#include "cubby/cli/search_output.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

struct Options {
  std::string id;
  std::string root;
  std::string pattern;
  GrepOptions grep;
  int64_t context_lines = 0;
  bool literal = false;
  bool case_sensitive = false;
  bool compat = false;
  bool no_ignore = false;
};

constexpr const char* kCut = "...";

std::string Shown(const Context& context, absl::string_view text, bool cut_before, bool cut_after) {
  return absl::StrCat(cut_before ? kCut : "", ForPeople(context.out(), text),
                      cut_after ? kCut : "");
}

// As grep and ripgrep print: "path:line:text", and "path-line-text" for lines around it.
std::string Lines(const Context& context, const GrepMatch& match) {
  const std::string path = ForPeople(context.out(), match.path);
  std::string text;
  int64_t line = match.line - static_cast<int64_t>(match.before.size());
  for (const ContextLine& before : match.before) {
    absl::StrAppend(&text, path, "-", line++, "-",
                    Shown(context, before.text, false, before.cut_after), "\n");
  }
  absl::StrAppend(&text, path, ":", line++, ":",
                  Shown(context, match.text, match.cut_before, match.cut_after), "\n");
  for (const ContextLine& after : match.after) {
    absl::StrAppend(&text, path, "-", line++, "-",
                    Shown(context, after.text, false, after.cut_after), "\n");
  }
  return text;
}

absl::StatusOr<int> Print(Context& context, const Options& options, Sandbox& sandbox) {
  absl::Status printed;
  bool first = true;
  CUBBY_ASSIGN_OR_RETURN(const SearchSummary summary,
                         sandbox.GrepTo(options.root, options.pattern, options.grep,
                                        [&](absl::Span<GrepMatch> matches) {
                                          std::string text;
                                          for (const GrepMatch& match : matches) {
                                            if (options.context_lines > 0 && !first) text += "--\n";
                                            first = false;
                                            text += Lines(context, match);
                                          }
                                          printed = context.Print(text);
                                          return printed.ok();
                                        }));
  CUBBY_RETURN_IF_ERROR(printed);
  SaySummary(context, summary, "--max-results");
  return SearchExitCode(summary);
}

Json ToJson(const std::vector<ContextLine>& lines) {
  Json array = Json::array();
  for (const ContextLine& line : lines) {
    Json object;
    PutBytes(&object, "text", line.text);
    object["cut_after"] = line.cut_after;
    array.push_back(object);
  }
  return array;
}

absl::StatusOr<int> PrintAsJson(Context& context, const Options& options, Sandbox& sandbox) {
  CUBBY_ASSIGN_OR_RETURN(const GrepResult result,
                         sandbox.Grep(options.root, options.pattern, options.grep));
  Json matches = Json::array();
  for (const GrepMatch& match : result.matches) {
    Json object;
    PutBytes(&object, "path", match.path);
    object["line"] = match.line;
    object["column"] = match.column;
    PutBytes(&object, "text", match.text);
    object["match_begin"] = match.match_begin;
    object["match_end"] = match.match_end;
    object["cut_before"] = match.cut_before;
    object["cut_after"] = match.cut_after;
    object["utf16"] = match.utf16;
    if (options.context_lines > 0) {
      object["before"] = ToJson(match.before);
      object["after"] = ToJson(match.after);
    }
    matches.push_back(object);
  }
  CUBBY_RETURN_IF_ERROR(PrintJson(context, WithSummary({{"matches", matches}}, result.summary)));
  return SearchExitCode(result.summary);
}

absl::StatusOr<int> Grep(Context& context, Options& options) {
  GrepOptions& grep = options.grep;
  grep.syntax = options.literal ? PatternSyntax::kLiteral : PatternSyntax::kRegex;
  grep.letter_case = options.case_sensitive ? LetterCase::kSensitive : LetterCase::kInsensitive;
  grep.rules = options.compat ? GlobRules::kCompat : GlobRules::kRecursive;
  grep.ignore.defaults = !options.no_ignore;
  grep.context_before = grep.context_after =
      static_cast<int>(std::min<int64_t>(options.context_lines, std::numeric_limits<int>::max()));
  CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, context.FindSandbox(options.id));
  return context.global.json ? PrintAsJson(context, options, *sandbox)
                             : Print(context, options, *sandbox);
}

}  // namespace

Verb GrepVerb() {
  auto options = std::make_shared<Options>();
  return {
      .name = "grep",
      .summary = "Find lines in files of a sandbox",
      .description =
          "PATTERN is a regular expression (RE2's syntax), without regard to case unless "
          "--case-sensitive is given. ROOT is a folder or one file. Binary files, large ones and "
          "common clutter are passed over and counted.\n\n"
          "Matches are printed in order as path:line:text while the search goes on; a long line is "
          "cut around the match. The exit code is 0 when something was found, 1 when there is "
          "nothing, and 2 when nothing was found but not everything was seen; standard error says "
          "what is missing.",
      .options = {Integer("--max-results", "N", &options->grep.max_results, 0,
                          "at most so many lines"),
                  Flag("--literal", &options->literal,
                       "PATTERN is a string, nothing in it special"),
                  Flag("--case-sensitive", &options->case_sensitive, "A and a are different"),
                  Text("--glob", "GLOB", &options->grep.glob, "only files whose path matches"),
                  Flag("--compat", &options->compat, "the rules of 'glob --compat' for --glob"),
                  Integer("--context", "N", &options->context_lines, 0,
                          "so many lines before and after each"),
                  Size("--max-file-size", &options->grep.max_file_bytes, "pass over larger files"),
                  Flag("--no-ignore", &options->no_ignore,
                       "look into common clutter too, such as .git and node_modules"),
                  Texts("--ignore", "NAME", &options->grep.ignore.names,
                        "pass over entries of this name too; * stands for anything"),
                  Span("--timeout", &options->grep.timeout, "how long it may take")},
      .positionals = {Word("ID", &options->id, Completes::kSandbox,
                           "the sandbox, or the beginning of its id"),
                      Word("ROOT", &options->root, Completes::kNothing,
                           "the folder or file to look in"),
                      Word("PATTERN", &options->pattern, Completes::kNothing, "what to look for")},
      .run = [options](Context& context) { return Grep(context, *options); }};
}

}  // namespace cubby::cli
