// cli/: the `cubby` command; one file per verb.
//
// A verb is declared once, here as a value: its words, its options with their types, defaults and
// help, and what runs. The parser, the help, the shell completions, the man page and docs/cli.md
// are all made from these declarations. May use every folder below; nothing may use it. It knows
// terminals, exit codes and JSON, and decides nothing about sandboxes.
#ifndef CUBBY_CLI_DECLARATION_H_
#define CUBBY_CLI_DECLARATION_H_

#include <stdint.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace cubby::cli {

class Context;

// What a shell offers when the value is completed.
enum class Completes { kNothing, kFile, kFolder, kSandbox, kImage, kExecution, kSandboxOrFile };

enum class Occurs { kOnce, kRepeatedly };

struct Option {
  std::string names;                                    // "-e,--env"
  std::string value_name;                               // "KEY=VALUE"; empty for a flag
  std::string help;                                     // one sentence without a full stop
  std::string default_text;                             // shown in the help; empty: nothing to say
  std::function<absl::Status(const std::string&)> set;  // a flag gets ""
  Occurs occurs = Occurs::kOnce;
  std::vector<std::string> choices;
  Completes completes = Completes::kNothing;

  [[nodiscard]] bool is_flag() const { return value_name.empty(); }
  [[nodiscard]] std::vector<std::string> NameList() const;
  // The long name without dashes.
  [[nodiscard]] std::string Key() const;
};

enum class Need { kRequired, kOptional };

struct Positional {
  std::string name;  // "ID"
  std::string help;
  Need need = Need::kRequired;
  std::function<absl::Status(const std::string&)> set;
  Occurs occurs = Occurs::kOnce;
  Completes completes = Completes::kNothing;
  // Not expected when this option (its long name without dashes) is given.
  std::string replaced_by_option;
};

// Whether the words after the positionals (or after `--`) are a command to be run.
enum class CommandWords { kNone, kAccepted };

struct Verb {
  std::string name;
  std::string summary;      // one line
  std::string description;  // paragraphs separated by empty lines; may be empty
  std::vector<Option> options;
  std::vector<Positional> positionals;
  CommandWords command_words = CommandWords::kNone;
  // Returns the exit code. A status is reported by the caller and ends in kOwnFailure.
  std::function<absl::StatusOr<int>(Context&)> run;
  std::vector<Verb> verbs;  // instead of `run`

  [[nodiscard]] const Verb* Find(absl::string_view verb_name) const;
};

// Options bound to a variable, whose present value is the default that the help shows. The variable
// must live as long as the verb.
Option Flag(std::string names, bool* target, std::string help);
Option Text(std::string names, std::string value_name, std::string* target, std::string help);
Option Texts(std::string names, std::string value_name, std::vector<std::string>* target,
             std::string help);
Option Choice(std::string names, std::string value_name, std::string* target,
              std::vector<std::string> choices, std::string help);
Option Integer(std::string names, std::string value_name, int64_t* target, int64_t minimum,
               std::string help);
Option Decimal(std::string names, std::string value_name, double* target, std::string help);
Option Size(std::string names, int64_t* target, std::string help);
Option Span(std::string names, absl::Duration* target, std::string help);

Positional Word(std::string name, std::string* target, Completes completes, std::string help,
                Need need = Need::kRequired);
Positional Words(std::string name, std::vector<std::string>* target, Completes completes,
                 std::string help, Need need = Need::kRequired);

Option WithCompletion(Option option, Completes completes);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_DECLARATION_H_
