#include "cubby/cli/declaration.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/units.h"

namespace cubby::cli {

std::vector<std::string> Option::NameList() const { return absl::StrSplit(names, ','); }

std::string Option::Key() const {
  for (const std::string& name : NameList()) {
    if (absl::string_view key = name; absl::ConsumePrefix(&key, "--")) return std::string(key);
  }
  return std::string(absl::StripPrefix(names, "-"));
}

const Verb* Verb::Find(absl::string_view verb_name) const {
  for (const Verb& verb : verbs) {
    if (verb.name == verb_name) return &verb;
  }
  return nullptr;
}

Option Flag(std::string names, bool* target, std::string help) {
  return {.names = std::move(names), .help = std::move(help), .set = [target](const std::string&) {
            *target = true;
            return absl::OkStatus();
          }};
}

Option Text(std::string names, std::string value_name, std::string* target, std::string help) {
  return {.names = std::move(names),
          .value_name = std::move(value_name),
          .help = std::move(help),
          .default_text = *target,
          .set = [target](const std::string& value) {
            *target = value;
            return absl::OkStatus();
          }};
}

Option Texts(std::string names, std::string value_name, std::vector<std::string>* target,
             std::string help) {
  return {.names = std::move(names),
          .value_name = std::move(value_name),
          .help = std::move(help),
          .set =
              [target](const std::string& value) {
                target->push_back(value);
                return absl::OkStatus();
              },
          .occurs = Occurs::kRepeatedly};
}

Option Choice(std::string names, std::string value_name, std::string* target,
              std::vector<std::string> choices, std::string help) {
  return {.names = std::move(names),
          .value_name = std::move(value_name),
          .help = std::move(help),
          .default_text = *target,
          .set =
              [target, choices](const std::string& value) {
                for (const std::string& choice : choices) {
                  if (value == choice) {
                    *target = value;
                    return absl::OkStatus();
                  }
                }
                return absl::InvalidArgumentError(
                    absl::StrCat("'", value, "' is not one of ", absl::StrJoin(choices, ", ")));
              },
          .choices = choices};
}

Option Integer(std::string names, std::string value_name, int64_t* target, int64_t minimum,
               std::string help) {
  return {.names = std::move(names),
          .value_name = std::move(value_name),
          .help = std::move(help),
          .default_text = absl::StrCat(*target),
          .set = [target, minimum](const std::string& value) {
            int64_t number = 0;
            if (!absl::SimpleAtoi(value, &number) || number < minimum) {
              return absl::InvalidArgumentError(
                  absl::StrCat("'", value, "' is not a whole number of at least ", minimum));
            }
            *target = number;
            return absl::OkStatus();
          }};
}

Option Decimal(std::string names, std::string value_name, double* target, std::string help) {
  return {
      .names = std::move(names),
      .value_name = std::move(value_name),
      .help = std::move(help),
      .default_text = absl::StrCat(*target),
      .set = [target](const std::string& value) {
        double number = 0;
        if (!absl::SimpleAtod(value, &number) || !(number > 0) || number > 1e6) {
          return absl::InvalidArgumentError(absl::StrCat("'", value, "' is not a number above 0"));
        }
        *target = number;
        return absl::OkStatus();
      }};
}

Option Size(std::string names, int64_t* target, std::string help) {
  return {.names = std::move(names),
          .value_name = "SIZE",
          .help = std::move(help),
          .default_text = FormatSize(*target),
          .set = [target](const std::string& value) {
            CUBBY_ASSIGN_OR_RETURN(*target, ParseSize(value));
            return absl::OkStatus();
          }};
}

Option Span(std::string names, absl::Duration* target, std::string help) {
  return {.names = std::move(names),
          .value_name = "TIME",
          .help = std::move(help),
          .default_text = FormatSpan(*target),
          .set = [target](const std::string& value) {
            CUBBY_ASSIGN_OR_RETURN(*target, ParseSpan(value));
            return absl::OkStatus();
          }};
}

Positional Word(std::string name, std::string* target, Completes completes, std::string help,
                Need need) {
  return {.name = std::move(name),
          .help = std::move(help),
          .need = need,
          .set =
              [target](const std::string& value) {
                *target = value;
                return absl::OkStatus();
              },
          .completes = completes};
}

Positional Words(std::string name, std::vector<std::string>* target, Completes completes,
                 std::string help, Need need) {
  return {.name = std::move(name),
          .help = std::move(help),
          .need = need,
          .set =
              [target](const std::string& value) {
                target->push_back(value);
                return absl::OkStatus();
              },
          .occurs = Occurs::kRepeatedly,
          .completes = completes};
}

Option WithCompletion(Option option, Completes completes) {
  option.completes = completes;
  return option;
}

}  // namespace cubby::cli
