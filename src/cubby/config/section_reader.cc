#include "cubby/config/section_reader.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cubby/base/env_policy.h"
#include "cubby/config/setting_value.h"
#include "cubby/status.h"

namespace cubby::config {
namespace {

using Kind = YamlNode::Kind;

constexpr absl::string_view kSection = "sandbox";
constexpr size_t kShownBytes = 64;
constexpr size_t kShownProblems = 20;
constexpr size_t kShownKeys = 200;
constexpr absl::Duration kLongestCloudIdle = absl::Hours(24);

// A stranger's text as part of a message: short, and without control characters.
std::string Shown(absl::string_view text) {
  const bool cut = text.size() > kShownBytes;
  return absl::StrCat(absl::CHexEscape(text.substr(0, kShownBytes)), cut ? "..." : "");
}

std::string Join(const std::vector<std::string>& parts, size_t most, absl::string_view between) {
  const size_t shown = std::min(parts.size(), most);
  std::string text = absl::StrJoin(parts.begin(), parts.begin() + shown, between);
  if (shown < parts.size()) absl::StrAppend(&text, between, "and ", parts.size() - shown, " more");
  return text;
}

const Setting* FindSetting(absl::string_view key) {
  for (const Setting& setting : Settings()) {
    if (key == setting.key || (!setting.other_key.empty() && key == setting.other_key)) {
      return &setting;
    }
  }
  return nullptr;
}

bool IsGroup(absl::string_view key) {
  const std::string prefix = absl::StrCat(key, ".");
  for (const Setting& setting : Settings()) {
    if (absl::StartsWith(setting.key, prefix)) return true;
  }
  return false;
}

bool IsVariableName(absl::string_view name) {
  if (name.empty() || absl::ascii_isdigit(name[0])) return false;
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_') return false;
  }
  return true;
}

// The name in "$NAME" and "${NAME}"; empty for any other text.
absl::string_view VariableIn(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "$")) return {};
  if (absl::ConsumePrefix(&text, "{") && !absl::ConsumeSuffix(&text, "}")) return {};
  return IsVariableName(text) ? text : absl::string_view();
}

const char* KindWords(Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kText:
      return "text";
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return "";
}

}  // namespace

SectionReader::SectionReader(std::string file, Lookup lookup)
    : file_(std::move(file)), lookup_(std::move(lookup)) {}

std::string SectionReader::Where(int line) const { return absl::StrCat(file_, ":", line, ": "); }

void SectionReader::Problem(const std::string& where, absl::string_view key,
                            absl::string_view reason) {
  problems_.push_back(absl::StrCat(where, kSection, key.empty() ? "" : ".", key, ": ", reason));
}

bool SectionReader::CheckMap(const YamlNode& node, absl::string_view key) {
  if (node.kind != Kind::kMap) {
    Problem(Where(node.line), key, absl::StrCat(KindWords(node.kind), ": must be a map"));
    return false;
  }
  if (node.duplicate_line != 0) {
    Problem(Where(node.duplicate_line), key,
            absl::StrCat("\"", Shown(node.duplicate), "\" is given twice"));
    return false;
  }
  return true;
}

void SectionReader::ReadDocument(const YamlNode& document) {
  if (document.kind == Kind::kNull) return;
  if (document.kind != Kind::kMap) {
    problems_.push_back(absl::StrCat(Where(document.line), KindWords(document.kind),
                                     ": must be a map with a section `", kSection, "`"));
    return;
  }
  const YamlEntry* section = nullptr;
  for (const YamlEntry& entry : document.entries) {
    if (entry.key != kSection) continue;
    if (section != nullptr) {
      Problem(Where(entry.line), "", "is given twice");
      return;
    }
    section = &entry;
  }
  if (section == nullptr) {
    warnings_.push_back(
        absl::StrCat(file_, ": has no section `", kSection, "`, nothing is taken from it"));
    return;
  }
  if (section->value->kind == Kind::kNull) return;
  ReadMap(*section->value, "");
}

void SectionReader::ReadMap(const YamlNode& map, const std::string& prefix) {
  if (!CheckMap(map, absl::StripSuffix(prefix, "."))) return;
  for (const YamlEntry& entry : map.entries) {
    const std::string key = prefix + entry.key;
    const Setting* setting = FindSetting(key);
    if (setting != nullptr) {
      // Nothing is the same as not written.
      if (entry.value->kind == Kind::kNull) continue;
      const auto [at, is_first] = given_.try_emplace(
          setting->key, Given{.where = Where(entry.line), .key = key, .node = entry.value});
      if (!is_first) {
        Problem(Where(entry.line), key, absl::StrCat("is given already as ", at->second.key));
      }
    } else if (IsGroup(key)) {
      if (entry.value->kind != Kind::kNull) ReadMap(*entry.value, key + ".");
    } else {
      unknown_.push_back(absl::StrCat(kSection, ".", Shown(key), " (line ", entry.line, ")"));
    }
  }
}

void SectionReader::Override(const std::string& key, const std::string& text) {
  const Setting* setting = FindSetting(key);
  if (setting == nullptr) return Problem("", Shown(key), "there is no such setting");
  if (IsStructure(*setting)) return Problem("", key, "can be given in a file only");
  given_[setting->key] = Given{.key = key, .text = text};
}

std::optional<SectionReader::Resolved> SectionReader::Resolve(const std::string& where,
                                                              absl::string_view key,
                                                              const std::string& text) {
  const std::string variable(VariableIn(text));
  if (variable.empty()) return Resolved{.text = text};
  std::optional<std::string> value = lookup_(variable);
  if (!value.has_value()) {
    Problem(where, key, absl::StrCat("the environment variable ", Shown(variable), " is not set"));
    return std::nullopt;
  }
  return Resolved{.text = *std::move(value), .variable = variable};
}

void SectionReader::Apply(const Setting& setting) {
  const auto found = given_.find(setting.key);
  if (found == given_.end()) return ApplyVariables(setting);
  const Given& given = found->second;
  if (const auto* field =
          std::get_if<std::map<std::string, std::string> Config::*>(&setting.field)) {
    return ApplyEnvironment(given, &(config_.**field));
  }
  if (const auto* field = std::get_if<std::vector<Mount> Config::*>(&setting.field)) {
    return ApplyMounts(given, &(config_.**field));
  }
  std::optional<Resolved> value = Resolved{.text = given.text};
  if (given.node != nullptr) {
    if (given.node->kind != Kind::kText) {
      return Problem(given.where, given.key,
                     absl::StrCat(KindWords(given.node->kind), ": must be ", Allowed(setting)));
    }
    value = Resolve(given.where, given.key, given.node->text);
    if (!value.has_value()) return;
  }
  const absl::Status set = SetFromText(setting, value->text, &config_);
  if (set.ok()) {
    // An empty text is the same as not written.
    if (value->text.empty()) return ApplyVariables(setting);
    written_.insert(setting.key);
    return;
  }
  const std::string shown = !value->variable.empty()
                                ? absl::StrCat("the value of $", value->variable)
                            : IsSecret(setting) ? "the value"
                                                : absl::StrCat("\"", Shown(value->text), "\"");
  Problem(given.where, given.key, absl::StrCat(shown, ": ", set.message()));
}

void SectionReader::ApplyEnvironment(const Given& given,
                                     std::map<std::string, std::string>* environment) {
  if (!CheckMap(*given.node, given.key)) return;
  for (const YamlEntry& entry : given.node->entries) {
    const std::string key = absl::StrCat(given.key, ".", Shown(entry.key));
    const std::string where = Where(entry.line);
    if (entry.value->kind != Kind::kText) {
      Problem(where, key,
              absl::StrCat(KindWords(entry.value->kind), ": must be text (\"\" is empty)"));
      continue;
    }
    const std::optional<Resolved> value = Resolve(where, key, entry.value->text);
    if (!value.has_value()) continue;
    const absl::Status good = CheckEnvironment({{entry.key, value->text}});
    if (!good.ok()) {
      Problem(
          where, key,
          "a name has letters, digits and _ and does not begin with a digit; a value has no NUL");
      continue;
    }
    (*environment)[entry.key] = value->text;
  }
}

void SectionReader::ApplyMounts(const Given& given, std::vector<Mount>* mounts) {
  if (given.node->kind != Kind::kList) {
    return Problem(given.where, given.key,
                   absl::StrCat(KindWords(given.node->kind), ": must be a list of maps"));
  }
  absl::flat_hash_set<std::string> taken;
  for (size_t i = 0; i < given.node->items.size(); ++i) {
    const YamlNode& item = *given.node->items[i];
    const std::string key = absl::StrCat(given.key, "[", i, "]");
    Mount mount;
    const size_t before = problems_.size();
    ApplyMount(item, key, &mount);
    if (problems_.size() > before) continue;
    if (!taken.insert(mount.guest_path).second) {
      warnings_.push_back(absl::StrCat(Where(item.line), kSection, ".", key, ": ",
                                       Shown(mount.guest_path),
                                       " is taken by an earlier mount, this one is left out"));
      continue;
    }
    mounts->push_back(std::move(mount));
  }
}

void SectionReader::ApplyMount(const YamlNode& node, const std::string& key, Mount* mount) {
  if (!CheckMap(node, key)) return;
  absl::flat_hash_set<absl::string_view> missing;
  for (const MountSetting& setting : MountSettings()) {
    if (setting.required) missing.insert(setting.key);
  }
  for (const YamlEntry& entry : node.entries) {
    const std::string entry_key = absl::StrCat(key, ".", Shown(entry.key));
    const MountSetting* setting = nullptr;
    for (const MountSetting& candidate : MountSettings()) {
      if (candidate.key == entry.key) setting = &candidate;
    }
    if (setting == nullptr) {
      unknown_.push_back(absl::StrCat(kSection, ".", entry_key, " (line ", entry.line, ")"));
      continue;
    }
    if (entry.value->kind == Kind::kNull) continue;
    missing.erase(setting->key);
    const std::string where = Where(entry.line);
    if (entry.value->kind != Kind::kText) {
      Problem(where, entry_key,
              absl::StrCat(KindWords(entry.value->kind), ": must be ", Allowed(*setting)));
      continue;
    }
    const std::optional<Resolved> value = Resolve(where, entry_key, entry.value->text);
    if (!value.has_value()) continue;
    const absl::Status set = SetFromText(*setting, value->text, mount);
    if (set.ok()) continue;
    Problem(where, entry_key,
            absl::StrCat(value->variable.empty() ? absl::StrCat("\"", Shown(value->text), "\"")
                                                 : absl::StrCat("the value of $", value->variable),
                         ": ", set.message()));
  }
  for (const MountSetting& setting : MountSettings()) {
    if (missing.contains(setting.key)) {
      Problem(Where(node.line), key, absl::StrCat(setting.key, " is missing"));
    }
  }
}

// What the file does not say: a variable that is set, else the fallback.
void SectionReader::ApplyVariables(const Setting& setting) {
  for (const PerBackend& variable : setting.variables) {
    if (variable.backend != BackendKind::kAuto && variable.backend != config_.use) continue;
    const std::string name(variable.text);
    const std::optional<std::string> value = lookup_(name);
    if (!value.has_value() || value->empty()) continue;
    const absl::Status set = SetFromText(setting, *value, &config_);
    if (set.ok()) return;
    // Nobody has written that this variable is for us, so it cannot be an error.
    warnings_.push_back(absl::StrCat("the value of $", name, " is not used for ", kSection, ".",
                                     setting.key, ": ", set.message()));
  }
  const absl::string_view fallback = Fallback(setting, config_.use);
  if (fallback.empty()) return;
  const absl::Status set = SetFromText(setting, fallback, &config_);
  if (!set.ok()) Problem("", setting.key, absl::StrCat("default: ", set.message()));
}

void SectionReader::ApplyBackendRules() {
  while (absl::EndsWith(config_.ownership_key_prefix, ":")) config_.ownership_key_prefix.pop_back();
  if (config_.use != BackendKind::kE2b) return;
  if (!written_.contains("template") && !config_.image.empty()) {
    config_.cloud_template = config_.image;
  }
  if (config_.overflow_policy == OverflowPolicy::kBurst && config_.burst_limit == 0) {
    config_.overflow_policy = OverflowPolicy::kReject;
  }
  if (config_.idle_timeout > kLongestCloudIdle) {
    config_.idle_timeout = kLongestCloudIdle;
    warnings_.push_back(absl::StrCat(kSection, ".idle_timeout: lowered to ",
                                     absl::ToInt64Seconds(kLongestCloudIdle),
                                     ", the most that e2b keeps a sandbox"));
  }
  if (config_.api_key.empty()) {
    warnings_.push_back(absl::StrCat(kSection, ".api_key: not set, and neither is $E2B_API_KEY"));
  }
}

absl::StatusOr<Config> SectionReader::Finish() {
  // First the backend, on which defaults depend.
  const Setting& use = *FindSetting("use");
  Apply(use);
  for (const Setting& setting : Settings()) {
    if (&setting != &use) Apply(setting);
  }
  if (!unknown_.empty()) {
    warnings_.push_back(absl::StrCat(file_, ": these settings are not known and are ignored: ",
                                     Join(unknown_, kShownKeys, ", ")));
  }
  if (!problems_.empty()) {
    return absl::InvalidArgumentError(Join(problems_, kShownProblems, "\n"));
  }
  ApplyBackendRules();
  config_.file = file_;
  return std::move(config_);
}

}  // namespace cubby::config
