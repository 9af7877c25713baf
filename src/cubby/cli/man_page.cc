#include "cubby/cli/man_page.h"

#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cubby/cli/help.h"

namespace cubby::cli {
namespace {

using Visit = std::function<void(const Verb& verb, const std::string& path)>;

// Every verb that runs, in the order of the declarations.
void EachVerb(const Verb& verb, const std::string& path, const Visit& visit) {
  if (verb.run != nullptr) visit(verb, path);
  for (const Verb& below : verb.verbs) {
    EachVerb(below, absl::StrCat(path, path.empty() ? "" : " ", below.name), visit);
  }
}

// Text that roff prints as it stands (groff_char(7)): a line must not start with a request.
std::string Roff(absl::string_view text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"},
                                                   {"-", "\\-"},
                                                   {"'", "\\(aq"},
                                                   {"`", "\\(ga"},
                                                   {"~", "\\(ti"},
                                                   {"^", "\\(ha"}});
  if (!escaped.empty() && escaped[0] == '.') escaped.insert(0, "\\&");
  return escaped;
}

void RoffTagged(absl::string_view tag, absl::string_view text, std::string* out) {
  absl::StrAppend(out, ".TP\n.B ", Roff(tag), "\n", Roff(text), "\n");
}

void RoffParagraphs(absl::string_view text, std::string* out) {
  for (absl::string_view paragraph : absl::StrSplit(text, "\n\n", absl::SkipEmpty())) {
    absl::StrAppend(out, ".PP\n", Roff(paragraph), "\n");
  }
}

std::string MarkdownCell(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"|", "\\|"}, {"<", "&lt;"}, {"\n", " "}});
}

void MarkdownOptions(const std::vector<Option>& options, std::string* out) {
  *out += "| option | what it does |\n| --- | --- |\n";
  for (const Option& option : options) {
    absl::StrAppend(out, "| `", OptionSyntax(option), "` | ", MarkdownCell(OptionHelp(option)),
                    " |\n");
  }
  *out += "\n";
}

}  // namespace

std::string ManPage(const Verb& root) {
  std::string out = absl::StrCat(".TH CUBBY 1 \"\" \"cubby ", CUBBY_VERSION, "\" \"Cubby\"\n",
                                 ".SH NAME\ncubby \\- ", Roff(root.summary),
                                 "\n.SH SYNOPSIS\n.B cubby\n[OPTIONS] COMMAND\n.SH DESCRIPTION\n");
  RoffParagraphs(root.description, &out);
  out += ".SH COMMANDS\n";
  EachVerb(root, "", [&out](const Verb& verb, const std::string& path) {
    absl::StrAppend(&out, ".SS ", Roff(UsageLine(verb, path)), "\n", Roff(verb.summary), "\n");
    RoffParagraphs(verb.description, &out);
    for (const Positional& positional : verb.positionals) {
      RoffTagged(positional.name, positional.help, &out);
    }
    for (const Option& option : verb.options) {
      RoffTagged(OptionSyntax(option), OptionHelp(option), &out);
    }
  });
  out += ".SH OPTIONS OF EVERY COMMAND\n";
  for (const Option& option : root.options) {
    RoffTagged(OptionSyntax(option), OptionHelp(option), &out);
  }
  out += ".SH EXIT STATUS\n";
  for (absl::string_view line : absl::StrSplit(ExitCodes(), '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, '\t');
    RoffTagged(parts[0], parts[1], &out);
  }
  return out;
}

std::string MarkdownManual(const Verb& root) {
  std::string out = absl::StrCat(
      "# The `cubby` command\n\n"
      "<!-- Made by `cubby man --markdown` from the declarations of the verbs. -->\n\n",
      root.description, "\n\n## Options of every command\n\n");
  MarkdownOptions(root.options, &out);
  out += "## Exit codes\n\n| code | meaning |\n| --- | --- |\n";
  for (absl::string_view line : absl::StrSplit(ExitCodes(), '\n', absl::SkipEmpty())) {
    absl::StrAppend(&out, "| ", absl::StrReplaceAll(line, {{"\t", " | "}}), " |\n");
  }
  out += "\n## Commands\n";
  EachVerb(root, "", [&out](const Verb& verb, const std::string& path) {
    absl::StrAppend(&out, "\n### cubby ", path, "\n\n", verb.summary, ".\n\n```\n",
                    UsageLine(verb, path), "\n```\n\n");
    if (!verb.description.empty()) absl::StrAppend(&out, verb.description, "\n\n");
    if (!verb.positionals.empty()) {
      out += "| argument | what it is |\n| --- | --- |\n";
      for (const Positional& positional : verb.positionals) {
        absl::StrAppend(&out, "| `", positional.name, "` | ", MarkdownCell(positional.help),
                        " |\n");
      }
      out += "\n";
    }
    if (!verb.options.empty()) MarkdownOptions(verb.options, &out);
  });
  // No runs of empty lines, and one newline at the end.
  while (absl::StrReplaceAll({{"\n\n\n", "\n\n"}}, &out) > 0) {
  }
  while (out.size() > 1 && out[out.size() - 2] == '\n') out.pop_back();
  return out;
}

}  // namespace cubby::cli
