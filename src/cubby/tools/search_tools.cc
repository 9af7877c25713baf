#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cubby/base/utf8.h"
#include "cubby/tools/text_limits.h"
#include "cubby/tools/toolbox.h"

namespace cubby::tools {
namespace {

constexpr int64_t kGlobDefault = 200;
constexpr int64_t kGrepDefault = 100;

// What is asked for, or the default when that is not positive, and never above the ceiling. [T-30,
// D-23]
int64_t Clamp(int64_t wanted, int64_t default_limit, int64_t ceiling) {
  return std::min(wanted <= 0 ? default_limit : wanted, ceiling);
}

const char* ReasonName(Truncation truncation) {
  switch (truncation) {
    case Truncation::kNone:
      return "";
    case Truncation::kLimit:
      return "limit";
    case Truncation::kDeadline:
      return "deadline";
    case Truncation::kCancelled:
      return "cancelled";
    case Truncation::kUnreadable:
      return "unreadable";
  }
  return "";
}

Json Facts(const SearchSummary& summary) {
  return {{"truncated", summary.truncated()},
          {"reason", ReasonName(summary.truncation)},
          {"ignored", summary.ignored},
          {"skipped",
           {{"binary", summary.skipped_binary},
            {"too_large", summary.skipped_too_large},
            {"special", summary.skipped_special},
            {"symlinks", summary.skipped_symlinks}}}};
}

// The last line of a result that is not all there is.
std::string Incomplete(const SearchSummary& summary, absl::string_view advice) {
  switch (summary.truncation) {
    case Truncation::kNone:
      return "";
    case Truncation::kLimit:
      return absl::StrCat("There are more. ", advice, "\n");
    case Truncation::kDeadline:
      return absl::StrCat("Not everything was searched: the time was up. ", advice, "\n");
    case Truncation::kUnreadable:
      return absl::StrCat("Not everything was searched: ", summary.unreadable,
                          " files or folders could not be read.\n");
    case Truncation::kCancelled:
      return "Not everything was searched: the search was ended.\n";
  }
  return "";
}

// Nothing found: never "nothing" of a search that did not see everything. [F-32, T-31]
std::string NothingFound(const SearchSummary& summary, absl::string_view what,
                         absl::string_view root, absl::string_view advice) {
  std::string text =
      summary.truncated()
          ? absl::StrCat("The search under ", root, " is incomplete; ", what,
                         " was found in what was searched.\n", Incomplete(summary, advice))
          : absl::StrCat(what, " was found under ", root, ".");
  if (summary.ignored > 0) {
    absl::StrAppend(&text, text.back() == '\n' ? "" : "\n", summary.ignored,
                    " entries such as .git and node_modules were not looked into.");
  }
  return text;
}

absl::StatusOr<ToolResult> RunGlob(const ToolContext& context, const Json& arguments) {
  const auto root = arguments["path"].get<std::string>();
  const auto pattern = arguments["pattern"].get<std::string>();
  const absl::StatusOr<GlobResult> result = context.sandbox->Glob(
      root, pattern,
      {.include_directories = arguments["include_dirs"].get<bool>(),
       .max_results = Clamp(arguments["max_results"].get<int64_t>(), kGlobDefault,
                            context.settings->glob_max_results)});
  if (!result.ok()) return ErrorResult(result.status(), root);
  Json matches = Json::array();
  for (const GlobMatch& match : result->matches) matches.push_back(MendUtf8(match.path));
  Json facts = Facts(result->summary);
  facts["matches"] = matches;
  constexpr absl::string_view kAdvice = "Narrow the path or the pattern.";
  if (result->matches.empty()) {
    return ToolResult{
        .text = NothingFound(result->summary, absl::StrCat("no path that matches ", pattern), root,
                             kAdvice),
        .structured = facts};
  }
  const bool more = result->summary.truncated();
  std::string text = absl::StrCat(
      "Found ", result->matches.size(), " paths under ", root,
      more ? absl::StrCat(" (showing first ", result->matches.size(), ")") : std::string(), "\n");
  for (size_t i = 0; i < result->matches.size(); ++i) {
    absl::StrAppend(&text, i + 1, ". ", OneLine(result->matches[i].path), "\n");
  }
  text += Incomplete(result->summary, kAdvice);
  return ToolResult{.text = text, .structured = facts};
}

absl::StatusOr<ToolResult> RunGrep(const ToolContext& context, const Json& arguments) {
  const auto root = arguments["path"].get<std::string>();
  const auto pattern = arguments["pattern"].get<std::string>();
  const auto context_lines =
      static_cast<int>(std::clamp<int64_t>(arguments["context"].get<int64_t>(), 0, 20));
  const absl::StatusOr<GrepResult> result = context.sandbox->Grep(
      root, pattern,
      {.syntax = arguments["literal"].get<bool>() ? PatternSyntax::kLiteral : PatternSyntax::kRegex,
       .letter_case = arguments["case_sensitive"].get<bool>() ? LetterCase::kSensitive
                                                              : LetterCase::kInsensitive,
       .glob = arguments["glob"].get<std::string>(),
       .max_results = Clamp(arguments["max_results"].get<int64_t>(), kGrepDefault,
                            context.settings->grep_max_results),
       .context_before = context_lines,
       .context_after = context_lines});
  if (!result.ok()) return ErrorResult(result.status(), root);
  Json matches = Json::array();
  for (const GrepMatch& match : result->matches) {
    matches.push_back({{"path", MendUtf8(match.path)},
                       {"line", match.line},
                       {"column", match.column},
                       {"text", MendUtf8(match.text)}});
  }
  Json facts = Facts(result->summary);
  facts["matches"] = matches;
  constexpr absl::string_view kAdvice = "Narrow the path, or choose files with glob.";
  if (result->matches.empty()) {
    return ToolResult{
        .text = NothingFound(result->summary, absl::StrCat("no line that matches ", pattern), root,
                             kAdvice),
        .structured = facts};
  }
  const bool more = result->summary.truncated();
  std::string text = absl::StrCat(
      "Found ", result->matches.size(), " matching lines under ", root,
      more ? absl::StrCat(" (showing first ", result->matches.size(), ")") : std::string(), "\n");
  for (const GrepMatch& match : result->matches) {
    const std::string path = OneLine(match.path);
    int64_t line = match.line - static_cast<int64_t>(match.before.size());
    for (const ContextLine& before : match.before) {
      absl::StrAppend(&text, path, "-", line++, "- ", OneLine(before.text), "\n");
    }
    absl::StrAppend(&text, path, ":", line++, ": ", match.cut_before ? "..." : "",
                    OneLine(match.text), match.cut_after ? "..." : "", "\n");
    for (const ContextLine& after : match.after) {
      absl::StrAppend(&text, path, "-", line++, "- ", OneLine(after.text), "\n");
    }
  }
  text += Incomplete(result->summary, kAdvice);
  return ToolResult{.text = text, .structured = facts};
}

}  // namespace

Tool GlobTool() {
  return {
      .name = "glob",
      .title = "Find files",
      .description =
          "Finds files by a pattern for their path, as in gitignore: ** is any number of "
          "folders, {a,b} and [a-z] work, a pattern without a slash matches at any depth. "
          "Clutter such as .git and node_modules is passed over. Results are in path order.",
      .parameters = {DescriptionParameter(),
                     {.name = "pattern", .help = "for example **/*.py", .need = Need::kRequired},
                     {.name = "path",
                      .help = "the folder to look in",
                      .default_value = "/mnt/user-data/workspace"},
                     {.name = "include_dirs",
                      .type = ParameterType::kBoolean,
                      .help = "folders too",
                      .default_value = false},
                     {.name = "max_results",
                      .type = ParameterType::kInteger,
                      .help = "at most so many paths",
                      .default_value = kGlobDefault}},
      .run = RunGlob};
}

Tool GrepTool() {
  return {
      .name = "grep",
      .title = "Find text in files",
      .description =
          "Finds lines by a regular expression (RE2 syntax: no look-around, no "
          "back-references), without regard to case unless case_sensitive is set. Binary files, "
          "files above 1 MB and clutter such as .git are passed over. Results are in path "
          "order.",
      .parameters = {DescriptionParameter(),
                     {.name = "pattern",
                      .help = "the regular expression, or text when literal is set",
                      .need = Need::kRequired},
                     {.name = "path",
                      .help = "the folder or file to look in",
                      .default_value = "/mnt/user-data/workspace"},
                     {.name = "glob",
                      .help = "only files whose path matches, for example **/*.py",
                      .default_value = ""},
                     {.name = "literal",
                      .type = ParameterType::kBoolean,
                      .help = "pattern is plain text",
                      .default_value = false},
                     {.name = "case_sensitive",
                      .type = ParameterType::kBoolean,
                      .help = "A and a differ",
                      .default_value = false},
                     {.name = "context",
                      .type = ParameterType::kInteger,
                      .help = "lines shown before and after each match, at most 20",
                      .default_value = 0},
                     {.name = "max_results",
                      .type = ParameterType::kInteger,
                      .help = "at most so many lines",
                      .default_value = kGrepDefault}},
      .run = RunGrep};
}

}  // namespace cubby::tools
