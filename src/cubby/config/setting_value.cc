#include "cubby/config/setting_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cubby/base/path.h"

namespace cubby::config {
namespace {

// Above this a duration or a count is no longer exact as a double, and nobody means it.
constexpr double kLargest = 9e15;

template <class T>
std::string OneOf(const Words<T>& words) {
  return absl::StrCat("one of ", absl::StrJoin(words, ", ", [](std::string* out, const auto& word) {
                        absl::StrAppend(out, word.first);
                      }));
}

std::string RangeWords(const Range& range) {
  if (range.at_least && range.at_most) {
    return absl::StrCat(" from ", *range.at_least, " to ", *range.at_most);
  }
  if (range.at_least) return absl::StrCat(", ", *range.at_least, " or more");
  if (range.above) return absl::StrCat(" above ", *range.above);
  return "";
}

std::string TextWords(TextRule rule) {
  switch (rule) {
    case TextRule::kAny:
      return "text";
    case TextRule::kAbsolutePath:
      return "an absolute path";
    case TextRule::kHttpUrl:
      return "a URL that begins with http:// or https://";
    case TextRule::kRedisUrl:
      return "a URL that begins with redis://, rediss:// or unix://";
    case TextRule::kContainerName:
      return "a letter or digit, then letters, digits, '_', '.' and '-', at most 40 in all";
  }
  return "";
}

// The type that a member pointer points at.
template <class Pointer>
struct Pointee;
template <class T, class Owner>
struct Pointee<T Owner::*> {
  using Type = T;
};

struct AllowedWords {
  const Setting& setting;

  std::string For(const bool*) const { return "true or false"; }
  std::string For(const int64_t*) const {
    return absl::StrCat("a whole number", RangeWords(setting.range));
  }
  std::string For(const double*) const {
    return absl::StrCat("a number", RangeWords(setting.range));
  }
  std::string For(const absl::Duration*) const {
    return absl::StrCat(setting.digits == Digits::kWhole ? "a whole number" : "a number",
                        " of seconds", RangeWords(setting.range));
  }
  std::string For(const std::string*) const { return TextWords(setting.rule); }
  std::string For(const Secret*) const { return TextWords(setting.rule); }
  std::string For(const BackendKind*) const {
    return absl::StrCat(OneOf(WordsOf(BackendKind())),
                        ", or the class path of a DeerFlow provider");
  }
  std::string For(const OverflowPolicy*) const { return OneOf(WordsOf(OverflowPolicy())); }
  std::string For(const OwnershipStore*) const { return OneOf(WordsOf(OwnershipStore())); }
  std::string For(const std::map<std::string, std::string>*) const { return "a map"; }
  std::string For(const std::vector<Mount>*) const { return "a list of maps"; }
  template <class T>
  std::string For(const std::optional<T>*) const {
    return For(static_cast<const T*>(nullptr));
  }
};

bool ParseSwitch(absl::string_view text, bool* value) {
  const std::string word = absl::AsciiStrToLower(text);
  for (absl::string_view yes : {"true", "yes", "on", "1"}) {
    if (word == yes) return *value = true, true;
  }
  for (absl::string_view no : {"false", "no", "off", "0"}) {
    if (word == no) return *value = false, true;
  }
  return false;
}

// Decimal only: what "010", "0x10" and "1_0" are differs from reader to reader of YAML.
bool ParseNumber(absl::string_view text, Digits digits, double* value) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, "-")) absl::ConsumePrefix(&rest, "+");
  if (rest.empty() || !absl::ascii_isdigit(rest[0])) return false;
  if (rest.size() > 1 && rest[0] == '0' && absl::ascii_isdigit(rest[1])) return false;
  if (rest.find_first_not_of("0123456789.eE+-") != absl::string_view::npos) return false;
  if (text[0] == '+') text.remove_prefix(1);
  if (!absl::SimpleAtod(text, value) || std::abs(*value) > kLargest) return false;
  return digits == Digits::kFraction || *value == std::floor(*value);
}

bool InRange(const Range& range, double* value) {
  if (range.at_least && *value < *range.at_least) return false;
  if (range.above && *value <= *range.above) return false;
  if (range.at_most && *value > *range.at_most) return false;
  if (range.floor) *value = std::max(*value, *range.floor);
  return true;
}

bool IsContainerName(absl::string_view text) {
  return absl::ascii_isalnum(text[0]) && text.size() <= 40 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
         });
}

bool FollowsRule(TextRule rule, absl::string_view text) {
  if (text.find('\0') != absl::string_view::npos) return false;
  if (text.empty()) return true;
  switch (rule) {
    case TextRule::kAny:
      return true;
    case TextRule::kAbsolutePath:
      return text[0] == '/';
    case TextRule::kHttpUrl:
      return absl::StartsWith(text, "http://") || absl::StartsWith(text, "https://");
    case TextRule::kRedisUrl:
      return absl::StartsWith(text, "redis://") || absl::StartsWith(text, "rediss://") ||
             absl::StartsWith(text, "unix://");
    case TextRule::kContainerName:
      return IsContainerName(text);
  }
  return false;
}

bool ParseClassPath(absl::string_view text, BackendKind* backend) {
  const size_t colon = text.find(':');
  if (colon == absl::string_view::npos || colon + 1 == text.size()) return false;
  absl::string_view module = text.substr(0, colon);
  if (!absl::ConsumePrefix(&module, "deerflow.") && !absl::ConsumePrefix(&module, "src.")) {
    return false;
  }
  for (const auto& [prefix, kind] : ReferenceModules()) {
    absl::string_view rest = module;
    if (!absl::ConsumePrefix(&rest, prefix)) continue;
    if (!rest.empty() && rest[0] != '.') continue;
    *backend = kind;
    return true;
  }
  return false;
}

template <class T>
bool ParseWord(absl::string_view text, T* value) {
  for (const auto& [word, meaning] : WordsOf(T())) {
    if (word == text) return *value = meaning, true;
  }
  return false;
}

struct Parser {
  const Setting& setting;
  absl::string_view text;

  bool Into(bool* value) const { return ParseSwitch(text, value); }
  bool Into(double* value) const {
    return ParseNumber(text, Digits::kFraction, value) && InRange(setting.range, value);
  }
  bool Into(int64_t* value) const {
    double number = 0;
    if (!ParseNumber(text, Digits::kWhole, &number) || !InRange(setting.range, &number)) {
      return false;
    }
    *value = static_cast<int64_t>(number);
    return true;
  }
  bool Into(absl::Duration* value) const {
    double number = 0;
    if (!ParseNumber(text, setting.digits, &number) || !InRange(setting.range, &number)) {
      return false;
    }
    *value = absl::Seconds(number);
    return true;
  }
  bool Into(std::string* value) const {
    if (!FollowsRule(setting.rule, text)) return false;
    *value = std::string(text);
    return true;
  }
  bool Into(Secret* value) const {
    if (!FollowsRule(setting.rule, text)) return false;
    *value = Secret(std::string(text));
    return true;
  }
  bool Into(BackendKind* value) const {
    return ParseWord(text, value) || ParseClassPath(text, value);
  }
  bool Into(OverflowPolicy* value) const { return ParseWord(text, value); }
  bool Into(OwnershipStore* value) const { return ParseWord(text, value); }
  template <class T>
  bool Into(std::optional<T>* value) const {
    T inner = {};
    if (!Into(&inner)) return false;
    *value = inner;
    return true;
  }
  // Structures are no texts.
  bool Into(std::map<std::string, std::string>* value) const { return false; }
  bool Into(std::vector<Mount>* value) const { return false; }
};

struct Writer {
  std::string From(bool value) const { return value ? "true" : "false"; }
  std::string From(int64_t value) const { return absl::StrCat(value); }
  std::string From(double value) const { return absl::StrCat(value); }
  std::string From(absl::Duration value) const {
    return absl::StrCat(absl::ToDoubleSeconds(value));
  }
  std::string From(const std::string& value) const { return value; }
  std::string From(const Secret& value) const { return value.empty() ? "" : "***"; }
  std::string From(const std::map<std::string, std::string>& value) const {
    return value.empty() ? "" : "***";
  }
  std::string From(const std::vector<Mount>& value) const {
    return absl::StrJoin(value, ", ", [](std::string* out, const Mount& mount) {
      absl::StrAppend(out, mount.host_path, ":", mount.guest_path,
                      mount.access == MountAccess::kReadOnly ? ":ro" : "");
    });
  }
  template <class T>
  std::string From(const std::optional<T>& value) const {
    return value.has_value() ? From(*value) : "";
  }
  template <class T, std::enable_if_t<std::is_enum_v<T>, int> = 0>
  std::string From(T value) const {
    for (const auto& [word, meaning] : WordsOf(value)) {
      if (meaning == value) return std::string(word);
    }
    return "";
  }
};

absl::Status MustBe(const std::string& allowed) {
  return absl::InvalidArgumentError(absl::StrCat("must be ", allowed));
}

}  // namespace

absl::Status SetFromText(const Setting& setting, absl::string_view text, Config* config) {
  const bool good = std::visit(
      [&](auto pointer) {
        return Parser{setting, text}.Into(&(config->*pointer));
      },
      setting.field);
  return good ? absl::OkStatus() : MustBe(Allowed(setting));
}

absl::Status SetFromText(const MountSetting& setting, absl::string_view text, Mount* mount) {
  if (const auto* path = std::get_if<std::string Mount::*>(&setting.field)) {
    // A `..` would put a mount elsewhere than where the text seems to say.
    const absl::StatusOr<std::string> canonical = NormalizePath(text);
    if (!canonical.ok() || text[0] != '/') return MustBe(Allowed(setting));
    mount->** path = *canonical;
    return absl::OkStatus();
  }
  bool read_only = false;
  if (!ParseSwitch(text, &read_only)) return MustBe(Allowed(setting));
  mount->*std::get<MountAccess Mount::*>(setting.field) =
      read_only ? MountAccess::kReadOnly : MountAccess::kReadWrite;
  return absl::OkStatus();
}

std::string Allowed(const Setting& setting) {
  return std::visit(
      [&](auto pointer) {
        using T = typename Pointee<decltype(pointer)>::Type;
        return AllowedWords{setting}.For(static_cast<const T*>(nullptr));
      },
      setting.field);
}

std::string Allowed(const MountSetting& setting) {
  return std::holds_alternative<std::string Mount::*>(setting.field)
             ? "an absolute path without `..`"
             : "true or false";
}

std::string ToText(const Setting& setting, const Config& config) {
  return std::visit([&](auto pointer) { return Writer().From(config.*pointer); }, setting.field);
}

bool IsSecret(const Setting& setting) {
  return std::holds_alternative<Secret Config::*>(setting.field);
}

bool IsStructure(const Setting& setting) {
  return std::holds_alternative<std::map<std::string, std::string> Config::*>(setting.field) ||
         std::holds_alternative<std::vector<Mount> Config::*>(setting.field);
}

absl::string_view Fallback(const Setting& setting, BackendKind backend) {
  for (const PerBackend& own : setting.fallbacks) {
    if (own.backend == backend) return own.text;
  }
  return setting.fallback;
}

}  // namespace cubby::config

namespace cubby {

const char* BackendName(BackendKind kind) {
  for (const auto& [word, meaning] : config::WordsOf(kind)) {
    if (meaning == kind) return word.data();
  }
  return "";
}

}  // namespace cubby
