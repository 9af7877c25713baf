// What holds for every row of the table. [reference, section 9]
#include "cubby/config/setting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cubby/config/setting_value.h"
#include "cubby/config/testing/load.h"

namespace cubby::config {

void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.key; }

namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Load;
using testing::Loaded;

// A value that is allowed, is not the default, and is written as ToText writes it.
std::string GoodValue(const Setting& setting) {
  const std::string allowed = Allowed(setting);
  if (setting.key == "use") return "local";
  if (absl::StrContains(allowed, "one of")) {
    return absl::StrContains(allowed, "redis") ? "redis" : "wait";
  }
  if (allowed == "true or false") return setting.fallback == "true" ? "false" : "true";
  if (absl::StrContains(allowed, "number")) return "17";
  switch (setting.rule) {
    case TextRule::kAbsolutePath:
      return "/some/path";
    case TextRule::kHttpUrl:
      return "https://example.test/x";
    case TextRule::kRedisUrl:
      return "rediss://example.test:1/2";
    default:
      return "some-text";
  }
}

// One that is not; empty where every text is allowed.
std::string BadValue(const Setting& setting) {
  if (setting.rule != TextRule::kAny) return "-bad value-";
  const bool text =
      std::holds_alternative<std::string Config::*>(setting.field) || IsSecret(setting);
  return text ? "" : "-bad value-";
}

std::string InFile(absl::string_view key, absl::string_view value) {
  const std::vector<std::string> parts = absl::StrSplit(key, '.');
  std::string yaml = "sandbox:\n";
  std::string indent = "  ";
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    absl::StrAppend(&yaml, indent, parts[i], ":\n");
    indent += "  ";
  }
  return absl::StrCat(yaml, indent, parts.back(), ": ", value, "\n");
}

int LineInFile(const Setting& setting) {
  return 2 + static_cast<int>(std::count(setting.key.begin(), setting.key.end(), '.'));
}

// A secret is not shown by ToText.
std::string ValueOf(const Setting& setting, const Config& config) {
  if (const auto* secret = std::get_if<Secret Config::*>(&setting.field)) {
    return (config.**secret).Reveal();
  }
  return ToText(setting, config);
}

class EverySetting : public ::testing::TestWithParam<Setting> {
 protected:
  const Setting& setting() const { return GetParam(); }
  std::string Prefix() const {
    return absl::StrCat("cubby.yaml:", LineInFile(setting()), ": sandbox.", setting().key, ": ");
  }
};
using EveryTextSetting = EverySetting;

TEST_P(EverySetting, HasTheDefaultOfAPlainConfig) {
  const Loaded loaded = Load("sandbox: {}\n");
  ASSERT_TRUE(loaded.config.ok()) << loaded.config.status();
  EXPECT_EQ(ValueOf(setting(), *loaded.config), setting().key == "ownership.redis_url"
                                                    ? "redis://localhost:6379/0"
                                                    : ValueOf(setting(), Config()));
  EXPECT_EQ(ValueOf(setting(), *loaded.config), setting().fallback);
}

TEST_P(EverySetting, IsTheDefaultWhenNothingIsWritten) {
  const Loaded loaded = Load(InFile(setting().key, ""));
  ASSERT_TRUE(loaded.config.ok()) << loaded.config.status();
  EXPECT_EQ(ValueOf(setting(), *loaded.config), setting().fallback);
  const Loaded null = Load(InFile(setting().key, "null"));
  ASSERT_TRUE(null.config.ok()) << null.config.status();
  EXPECT_EQ(ValueOf(setting(), *null.config), setting().fallback);
}

TEST_P(EverySetting, HasItsDefaultOnEveryBackend) {
  for (const PerBackend& own : setting().fallbacks) {
    const Loaded loaded = Load(InFile("use", BackendName(own.backend)));
    ASSERT_TRUE(loaded.config.ok()) << loaded.config.status();
    EXPECT_EQ(ValueOf(setting(), *loaded.config), own.text) << BackendName(own.backend);
  }
}

TEST_P(EverySetting, GivenTwiceIsRefused) {
  const std::string once = InFile(setting().key, "");
  const std::string last = once.substr(once.rfind('\n', once.size() - 2) + 1);
  const Loaded loaded = Load(once + last);
  EXPECT_EQ(loaded.config.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(loaded.Error(), HasSubstr(absl::StrCat("cubby.yaml:", LineInFile(setting()) + 1)));
  EXPECT_THAT(loaded.Error(), HasSubstr("is given twice"));
}

TEST_P(EverySetting, SaysWhatItIsForInOneLine) {
  EXPECT_FALSE(setting().help.empty());
  EXPECT_NE(setting().help.back(), '.');
  EXPECT_EQ(setting().help.find_first_of("\n|"), absl::string_view::npos);
}

TEST_P(EverySetting, RefusesWhatIsOfAnotherShape) {
  const bool map_wanted = absl::StartsWith(Allowed(setting()), "a map");
  const Loaded loaded = Load(InFile(setting().key, map_wanted ? "[x]" : "{x: y}"));
  EXPECT_EQ(loaded.config.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(loaded.Error(), HasSubstr(Prefix()));
  EXPECT_THAT(loaded.Error(), HasSubstr(absl::StrCat("must be ", Allowed(setting()))));
}

TEST_P(EveryTextSetting, TakesAGoodValue) {
  const std::string good = GoodValue(setting());
  ASSERT_NE(good, setting().fallback);
  const Loaded loaded = Load(InFile(setting().key, good));
  ASSERT_TRUE(loaded.config.ok()) << loaded.config.status();
  EXPECT_EQ(ValueOf(setting(), *loaded.config), good);
  EXPECT_THAT(loaded.warnings, IsEmpty());
}

TEST_P(EveryTextSetting, TakesAVariableInBothForms) {
  const std::string good = GoodValue(setting());
  for (absl::string_view reference : {"$A_VARIABLE", "${A_VARIABLE}", "'$A_VARIABLE'"}) {
    const Loaded loaded = Load(InFile(setting().key, reference), {{"A_VARIABLE", good}});
    ASSERT_TRUE(loaded.config.ok()) << loaded.config.status();
    EXPECT_EQ(ValueOf(setting(), *loaded.config), good) << reference;
  }
}

TEST_P(EveryTextSetting, RefusesAVariableThatIsNotSet) {
  const Loaded loaded = Load(InFile(setting().key, "$A_VARIABLE"));
  EXPECT_EQ(loaded.config.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(loaded.Error(), Prefix() + "the environment variable A_VARIABLE is not set");
}

TEST_P(EveryTextSetting, NamesFileLineKeyAndWhatIsAllowed) {
  const std::string bad = BadValue(setting());
  if (bad.empty()) return;  // every text is allowed
  const Loaded loaded = Load(InFile(setting().key, bad));
  EXPECT_EQ(loaded.config.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(loaded.Error(),
            absl::StrCat(Prefix(), IsSecret(setting()) ? "the value" : "\"-bad value-\"",
                         ": must be ", Allowed(setting())));
}

TEST_P(EveryTextSetting, NeverShowsTheValueOfAVariable) {
  if (BadValue(setting()).empty()) return;
  const Loaded loaded = Load(InFile(setting().key, "$A_VARIABLE"), {{"A_VARIABLE", "-bad value-"}});
  EXPECT_EQ(loaded.Error(),
            absl::StrCat(Prefix(), "the value of $A_VARIABLE: must be ", Allowed(setting())));
}

TEST_P(EveryTextSetting, IsLaidOverTheFile) {
  const std::string good = GoodValue(setting());
  const std::string key(setting().key);
  const Loaded loaded = Load(InFile(key, "-bad value-"), {}, {{key, good}});
  ASSERT_TRUE(loaded.config.ok()) << loaded.config.status();
  EXPECT_EQ(ValueOf(setting(), *loaded.config), good);
  if (BadValue(setting()).empty()) return;
  const Loaded bad = Load("", {}, {{key, "-bad value-"}});
  EXPECT_EQ(bad.config.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(bad.Error(), HasSubstr(absl::StrCat("sandbox.", key, ": ")));
}

std::vector<Setting> TextSettings() {
  std::vector<Setting> found;
  for (const Setting& setting : Settings()) {
    if (!IsStructure(setting)) found.push_back(setting);
  }
  return found;
}

std::string NameOf(const ::testing::TestParamInfo<Setting>& info) {
  return absl::StrReplaceAll(info.param.key, {{".", "_"}});
}

INSTANTIATE_TEST_SUITE_P(Table, EverySetting, ::testing::ValuesIn(Settings()), NameOf);
INSTANTIATE_TEST_SUITE_P(Table, EveryTextSetting, ::testing::ValuesIn(TextSettings()), NameOf);

TEST(Table, TakesEveryKeyOfTheReference) {
  for (absl::string_view key : {"use",
                                "allow_host_bash",
                                "image",
                                "port",
                                "replicas",
                                "overflow_policy",
                                "acquire_timeout",
                                "burst_limit",
                                "container_prefix",
                                "idle_timeout",
                                "health_check_skip_seconds",
                                "thread_data_mounts",
                                "bash_output_max_chars",
                                "read_file_output_max_chars",
                                "ls_output_max_chars",
                                "bash_command_timeout",
                                "provisioner_url",
                                "provisioner_api_key",
                                "memory_mib",
                                "cpus",
                                "api_key",
                                "base_url",
                                "project_id",
                                "workspace_id",
                                "cpu_cores",
                                "memory_mb",
                                "max_duration",
                                "sticky",
                                "home_dir",
                                "template",
                                "domain",
                                "reconciliation_interval_seconds",
                                "reconciliation_grace_seconds",
                                "reconciliation_orphan_ttl_seconds",
                                "reconciliation_max_pages",
                                "reconciliation_max_items",
                                "reconciliation_max_seconds",
                                "environment",
                                "mounts",
                                "ownership.type",
                                "ownership.redis_url",
                                "ownership.renewal_interval_seconds",
                                "ownership.ttl_multiplier",
                                "ownership.key_prefix"}) {
    EXPECT_THAT(Load(InFile(key, "")).warnings, IsEmpty()) << key;
  }
}

TEST(Table, HasNoKeyTwice) {
  absl::flat_hash_set<absl::string_view> keys;
  for (const Setting& setting : Settings()) {
    EXPECT_TRUE(keys.insert(setting.key).second) << setting.key;
    if (!setting.other_key.empty()) {
      EXPECT_TRUE(keys.insert(setting.other_key).second);
    }
  }
}

}  // namespace
}  // namespace cubby::config
