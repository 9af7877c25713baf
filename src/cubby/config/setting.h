// What settings there are: one row each, from which the loader, its checks and error texts, and
// docs/configuration.md come.
//
// This folder reads the settings of an installation (include/cubby/config.h). It may use base. It
// must never know how a setting is used: what a backend makes of its own is that backend's affair.
#ifndef CUBBY_CONFIG_SETTING_H_
#define CUBBY_CONFIG_SETTING_H_

#include <stdint.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cubby/config.h"

namespace cubby::config {

// The field that a setting fills; its type is the setting's type. Durations are numbers of seconds
// in the file.
using Field =
    std::variant<bool Config::*, std::optional<bool> Config::*, int64_t Config::*,
                 std::optional<int64_t> Config::*, double Config::*,
                 std::optional<double> Config::*, absl::Duration Config::*, std::string Config::*,
                 Secret Config::*, BackendKind Config::*, OverflowPolicy Config::*,
                 OwnershipStore Config::*, std::map<std::string, std::string> Config::*,
                 std::vector<Mount> Config::*>;

// What a number must be. `floor` is for those that are raised to it instead of refused.
struct Range {
  std::optional<double> at_least;
  std::optional<double> above;
  std::optional<double> at_most;
  std::optional<double> floor;
};

// What a text must be. All may be empty, which is "not set".
enum class TextRule { kAny, kAbsolutePath, kHttpUrl, kRedisUrl, kContainerName };

enum class Digits { kWhole, kFraction };  // of a duration's seconds

struct PerBackend {
  BackendKind backend;
  absl::string_view text;
};

struct Setting {
  absl::string_view key;  // below `sandbox`, with dots: "ownership.type"
  Field field;
  // As one would write it in the file; empty: the field stays empty.
  absl::string_view fallback;
  // Instead of `fallback`, where that backend is in use.
  std::vector<PerBackend> fallbacks = {};
  // Looked up in order when the file says nothing; kAuto: for every backend.
  std::vector<PerBackend> variables = {};
  Range range = {};
  TextRule rule = TextRule::kAny;
  Digits digits = Digits::kWhole;
  absl::string_view unit = {};
  absl::string_view other_key = {};        // an older name of the same setting
  std::vector<BackendKind> backends = {};  // that it is for; empty: all
  absl::string_view help;
};

// In the order of the page.
const std::vector<Setting>& Settings();

// The keys of one entry of `mounts`.
struct MountSetting {
  absl::string_view key;
  std::variant<std::string Mount::*, MountAccess Mount::*> field;
  bool required;
  absl::string_view help;
};
const std::vector<MountSetting>& MountSettings();

// The words for the values of a choice, in the order of the page.
template <class T>
using Words = std::vector<std::pair<absl::string_view, T>>;
const Words<BackendKind>& WordsOf(BackendKind);
const Words<OverflowPolicy>& WordsOf(OverflowPolicy);
const Words<OwnershipStore>& WordsOf(OwnershipStore);

// The modules whose classes `use` takes for a backend, without their leading package: a file
// written for such a class goes on working.
const Words<BackendKind>& ReferenceModules();

}  // namespace cubby::config

#endif  // CUBBY_CONFIG_SETTING_H_
