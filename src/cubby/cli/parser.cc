#include "cubby/cli/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cubby/base/status_macros.h"

namespace cubby::cli {
namespace {

// The words split into what CLI11 parses and what is run.
struct Split {
  const Verb* verb = nullptr;
  std::string path;
  std::vector<std::string> own;
  std::vector<std::string> command;
  std::set<std::string> options_seen;  // keys
};

const Option* FindOption(const Verb& root, const Verb& verb, absl::string_view name) {
  for (const std::vector<Option>* options : {&verb.options, &root.options}) {
    for (const Option& option : *options) {
      for (const std::string& candidate : option.NameList()) {
        if (candidate == name) return &option;
      }
    }
  }
  return nullptr;
}

absl::Status UnknownVerb(const Verb& parent, const std::string& path, absl::string_view word) {
  std::vector<std::string> names;
  for (const Verb& verb : parent.verbs) names.push_back(verb.name);
  return absl::InvalidArgumentError(absl::StrCat("there is no command '", path,
                                                 path.empty() ? "" : " ", word, "'; there are ",
                                                 absl::StrJoin(names, ", ")));
}

size_t ExpectedPositionals(const Split& split) {
  size_t expected = 0;
  for (const Positional& positional : split.verb->positionals) {
    if (split.options_seen.count(positional.replaced_by_option) == 0) ++expected;
  }
  return expected;
}

// Where the command starts can be told only by knowing which options take a value, so this is done
// on the declarations, and CLI11 sees only the words before it.
absl::StatusOr<Split> SplitWords(const Verb& root, const std::vector<std::string>& words) {
  Split split{.verb = &root};
  size_t positionals = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      if (split.verb->command_words == CommandWords::kAccepted) {
        split.command.assign(words.begin() + i + 1, words.end());
      } else {
        split.own.insert(split.own.end(), words.begin() + i, words.end());
      }
      break;
    }
    if (word.size() > 1 && word[0] == '-') {
      split.own.push_back(word);
      const bool is_long = absl::StartsWith(word, "--");
      const size_t equals = is_long ? word.find('=') : std::string::npos;
      const std::string name = is_long ? word.substr(0, equals) : word.substr(0, 2);
      const Option* const option = FindOption(root, *split.verb, name);
      if (option == nullptr) continue;
      split.options_seen.insert(option->Key());
      if (option->is_flag() || equals != std::string::npos) continue;
      if (!is_long && word.size() > 2) continue;  // -eKEY=VALUE
      if (i + 1 < words.size()) split.own.push_back(words[++i]);
      continue;
    }
    if (!split.verb->verbs.empty()) {
      const Verb* const verb = split.verb->Find(word);
      if (verb == nullptr) return UnknownVerb(*split.verb, split.path, word);
      split.verb = verb;
      absl::StrAppend(&split.path, split.path.empty() ? "" : " ", word);
      continue;
    }
    if (split.verb->command_words == CommandWords::kAccepted &&
        positionals == ExpectedPositionals(split)) {
      split.command.assign(words.begin() + i, words.end());
      break;
    }
    ++positionals;
    split.own.push_back(word);
  }
  return split;
}

// A status carried through CLI11's exceptions.
[[noreturn]] void Refuse(const std::string& name, const absl::Status& status) {
  throw CLI::ValidationError(name, std::string(status.message()));
}

void AddOption(CLI::App& app, const Option& option) {
  if (option.is_flag()) {
    app.add_flag_function(option.names, [&option](std::int64_t count) {
      if (count > 0 && !option.set("").ok()) Refuse(option.names, absl::InternalError("flag"));
    });
    return;
  }
  CLI::Option* const added = app.add_option(option.names, [&option](const CLI::results_t& values) {
    for (const std::string& value : values) {
      if (absl::Status status = option.set(value); !status.ok()) {
        Refuse(option.NameList().back(), status);
      }
    }
    return true;
  });
  added->expected(1);
  // The last of several wins, as everywhere on Unix.
  added->multi_option_policy(option.occurs == Occurs::kRepeatedly
                                 ? CLI::MultiOptionPolicy::TakeAll
                                 : CLI::MultiOptionPolicy::TakeLast);
  if (option.occurs == Occurs::kRepeatedly) added->allow_extra_args(false);
}

void AddPositional(CLI::App& app, const Positional& positional) {
  CLI::Option* const added =
      app.add_option(positional.name, [&positional](const CLI::results_t& values) {
        for (const std::string& value : values) {
          if (absl::Status status = positional.set(value); !status.ok()) {
            Refuse(positional.name, status);
          }
        }
        return true;
      });
  if (positional.need == Need::kRequired) added->required();
  if (positional.occurs == Occurs::kRepeatedly) added->expected(1, 1 << 20)->allow_extra_args();
}

}  // namespace

absl::StatusOr<Parsed> Parse(const Verb& root, const std::vector<std::string>& words) {
  CUBBY_ASSIGN_OR_RETURN(Split split, SplitWords(root, words));
  Parsed parsed{.verb = split.verb, .path = split.path, .command = std::move(split.command)};
  for (const std::string& word : split.own) {
    if (word == "--") break;
    if (word == "-h" || word == "--help") {
      parsed.help = true;
      return parsed;
    }
  }
  CLI::App app("", absl::StrCat("cubby", split.path.empty() ? "" : " ", split.path));
  app.set_help_flag();
  try {
    for (const Option& option : split.verb->options) AddOption(app, option);
    if (split.verb != &root) {
      for (const Option& option : root.options) AddOption(app, option);
    }
    for (const Positional& positional : split.verb->positionals) {
      if (split.options_seen.count(positional.replaced_by_option) != 0) continue;
      AddPositional(app, positional);
    }
    std::reverse(split.own.begin(), split.own.end());  // CLI11 takes words from the back
    app.parse(std::move(split.own));
  } catch (const CLI::Error& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        error.what(), "; 'cubby", split.path.empty() ? "" : " ", split.path, " --help' says more"));
  }
  return parsed;
}

}  // namespace cubby::cli
