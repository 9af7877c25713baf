#include "cubby/base/env_policy.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace cubby {
namespace {

bool IsValidKey(absl::string_view key) {
  if (key.empty() || absl::ascii_isdigit(static_cast<unsigned char>(key[0]))) return false;
  for (char c : key) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

}  // namespace

absl::Status CheckEnvironment(const Environment& environment) {
  for (const auto& [key, value] : environment) {
    if (!IsValidKey(key)) {
      return absl::InvalidArgumentError(
          absl::StrCat("environment: key \"", absl::CHexEscape(key),
                       "\" is not allowed; use letters, digits and _, not starting with a digit"));
    }
    if (value.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("environment: the value of ", key, " contains a NUL byte"));
    }
  }
  return absl::OkStatus();
}

Environment MergeEnvironment(const Environment& base, const Environment& over) {
  Environment merged = over;
  merged.insert(base.begin(), base.end());
  return merged;
}

std::vector<std::string> EnvironmentStrings(const Environment& environment) {
  std::vector<std::string> strings;
  strings.reserve(environment.size());
  for (const auto& [key, value] : environment) strings.push_back(absl::StrCat(key, "=", value));
  return strings;
}

absl::Status ParseEnvironmentEntry(absl::string_view entry, Environment* environment) {
  const size_t equals = entry.find('=');
  if (equals == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("environment: expected KEY=value, got \"", absl::CHexEscape(entry), "\""));
  }
  Environment one;
  one[std::string(entry.substr(0, equals))] = std::string(entry.substr(equals + 1));
  if (absl::Status status = CheckEnvironment(one); !status.ok()) return status;
  environment->insert_or_assign(one.begin()->first, one.begin()->second);
  return absl::OkStatus();
}

}  // namespace cubby
