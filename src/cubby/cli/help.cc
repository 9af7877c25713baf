#include "cubby/cli/help.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace cubby::cli {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kWidestLeftColumn = 30;

// Words of `text` in lines that start at `indent`; the first line is already at `column`.
std::string Wrap(absl::string_view text, size_t indent, size_t column) {
  std::string out;
  for (absl::string_view word : absl::StrSplit(text, ' ')) {
    if (column > indent && column + 1 + word.size() > kWidth) {
      absl::StrAppend(&out, "\n", std::string(indent, ' '));
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    absl::StrAppend(&out, word);
    column += word.size();
  }
  return out;
}

void AppendTable(const std::vector<std::pair<std::string, std::string>>& rows, std::string* out) {
  size_t left = 0;
  for (const auto& [name, text] : rows) {
    if (name.size() <= kWidestLeftColumn) left = std::max(left, name.size());
  }
  const size_t indent = left + 4;
  for (const auto& [name, text] : rows) {
    absl::StrAppend(out, "  ", name);
    if (name.size() > left) {
      absl::StrAppend(out, "\n", std::string(indent, ' '));
    } else {
      out->append(indent - 2 - name.size(), ' ');
    }
    absl::StrAppend(out, Wrap(text, indent, indent), "\n");
  }
}

std::vector<std::pair<std::string, std::string>> OptionRows(const std::vector<Option>& options) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Option& option : options) {
    rows.emplace_back(OptionSyntax(option), OptionHelp(option));
  }
  return rows;
}

}  // namespace

std::string UsageLine(const Verb& verb, absl::string_view path) {
  std::string usage = absl::StrCat("cubby", path.empty() ? "" : " ", path);
  if (!verb.options.empty() || path.empty()) usage += " [OPTIONS]";
  if (!verb.verbs.empty()) usage += " COMMAND";
  for (const Positional& positional : verb.positionals) {
    const bool optional = positional.need == Need::kOptional;
    absl::StrAppend(&usage, " ", optional ? "[" : "", positional.name,
                    positional.occurs == Occurs::kRepeatedly ? "..." : "", optional ? "]" : "");
  }
  if (verb.command_words == CommandWords::kAccepted) usage += " [--] [COMMAND...]";
  return usage;
}

std::string OptionSyntax(const Option& option) {
  return absl::StrCat(absl::StrJoin(option.NameList(), ", "), option.is_flag() ? "" : " ",
                      option.value_name);
}

std::string OptionHelp(const Option& option) {
  std::string help = option.help;
  if (!option.choices.empty()) {
    absl::StrAppend(&help, "; one of ", absl::StrJoin(option.choices, ", "));
  }
  if (option.occurs == Occurs::kRepeatedly) help += "; may be repeated";
  if (!option.default_text.empty()) absl::StrAppend(&help, " (default: ", option.default_text, ")");
  return help;
}

std::string HelpText(const Verb& root, const Verb& verb, absl::string_view path) {
  std::string out = absl::StrCat("Usage: ", UsageLine(verb, path), "\n\n", verb.summary, "\n");
  if (!verb.description.empty()) {
    for (absl::string_view paragraph : absl::StrSplit(verb.description, "\n\n")) {
      absl::StrAppend(&out, "\n", Wrap(paragraph, 0, 0), "\n");
    }
  }
  if (!verb.verbs.empty()) {
    out += "\nCommands:\n";
    std::vector<std::pair<std::string, std::string>> rows;
    for (const Verb& below : verb.verbs) rows.emplace_back(below.name, below.summary);
    AppendTable(rows, &out);
  }
  if (!verb.positionals.empty()) {
    out += "\nArguments:\n";
    std::vector<std::pair<std::string, std::string>> rows;
    for (const Positional& positional : verb.positionals) {
      rows.emplace_back(positional.name, positional.help);
    }
    AppendTable(rows, &out);
  }
  if (!verb.options.empty() && &verb != &root) {
    out += "\nOptions:\n";
    AppendTable(OptionRows(verb.options), &out);
  }
  out += "\nOptions of every command:\n";
  AppendTable(OptionRows(root.options), &out);
  if (&verb == &root) {
    out += "\nExit codes:\n";
    std::vector<std::pair<std::string, std::string>> rows;
    for (absl::string_view line : absl::StrSplit(ExitCodes(), '\n', absl::SkipEmpty())) {
      rows.push_back(absl::StrSplit(line, absl::MaxSplits('\t', 1)));
    }
    AppendTable(rows, &out);
    out += "\n'cubby COMMAND --help' says more about a command.\n";
  }
  return out;
}

std::string ExitCodes() {
  return "N\tthe command's own, when it ran in the sandbox\n"
         "124\tthe command's time-out passed\n"
         "125\tcubby itself failed: the line on standard error says what and what to do\n"
         "126\tthe command could not be executed\n"
         "127\tthe command was not found\n"
         "128+N\tthe command was ended by signal N\n";
}

}  // namespace cubby::cli
