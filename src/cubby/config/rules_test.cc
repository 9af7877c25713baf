// Rules of single settings, and of the section as a whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/config/testing/load.h"

namespace cubby::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Load;
using testing::Loaded;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

Config Good(const Loaded& loaded) {
  EXPECT_TRUE(loaded.config.ok()) << loaded.config.status();
  return loaded.config.ok() ? *loaded.config : Config();
}

template <class T, class = void>
struct Prints : std::false_type {};
template <class T>
struct Prints<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<T>())>>
    : std::true_type {};

TEST(Secret, HasNoWayIntoATextButByName) {
  static_assert(!Prints<Secret>::value);
  static_assert(!std::is_convertible_v<Secret, std::string>);
  static_assert(!std::is_constructible_v<absl::AlphaNum, Secret>);
  static_assert(!std::is_convertible_v<std::string, Secret>);
  EXPECT_EQ(Secret("key").Reveal(), "key");
}

TEST(Section, AllBadValuesAreReportedALineEach) {
  const Loaded loaded = Load(
      "models: []\n"
      "sandbox:\n"
      "  overflow_policy: foo\n"
      "  replicas: 0\n"
      "  port: 70000\n");
  EXPECT_EQ(loaded.config.status().code(), absl::StatusCode::kInvalidArgument);
  // In the order of the table.
  EXPECT_EQ(loaded.Error(),
            "cubby.yaml:4: sandbox.replicas: \"0\": must be a whole number, 1 or more\n"
            "cubby.yaml:3: sandbox.overflow_policy: \"foo\": must be one of burst, wait, reject\n"
            "cubby.yaml:5: sandbox.port: \"70000\": must be a whole number from 1 to 65535");
}

// [G-2]
TEST(Section, UnknownKeysAreListedInOneWarning) {
  const Loaded loaded = Load(
      "sandbox:\n"
      "  replica: 3\n"
      "  ownership:\n"
      "    kind: $NOT_SET\n"
      "  mounts:\n"
      "    - {host_path: /a, container_path: /b, readonly: true}\n"
      "  other: {deep: [1]}\n");
  Good(loaded);
  EXPECT_THAT(loaded.warnings,
              ElementsAre("cubby.yaml: these settings are not known and are ignored: "
                          "sandbox.replica (line 2), sandbox.ownership.kind (line 4), "
                          "sandbox.other (line 7), sandbox.mounts[0].readonly (line 6)"));
}

TEST(Section, OtherSectionsAreNotLookedAt) {
  const Loaded loaded = Load(
      "config_version: 3\n"
      "models:\n"
      "  - {name: x, use: 'langchain_openai:ChatOpenAI', api_key: $NOT_SET}\n"
      "tools: [{name: glob, max_results: many}]\n"
      "tools: []\n"
      "sandbox: {replicas: 7}\n");
  EXPECT_EQ(Good(loaded).replicas, 7);
  EXPECT_THAT(loaded.warnings, IsEmpty());
}

TEST(Section, AFileWithoutTheSectionIsWarnedAbout) {
  const Loaded loaded = Load("replicas: 7\n");
  EXPECT_EQ(Good(loaded).replicas, 3);
  EXPECT_THAT(loaded.warnings, ElementsAre(HasSubstr("has no section `sandbox`")));
}

TEST(Section, MustBeAMapAndThereOnce) {
  EXPECT_EQ(Load("sandbox: 5\n").Error(), "cubby.yaml:1: sandbox: text: must be a map");
  EXPECT_EQ(Load("sandbox: {}\nsandbox: {}\n").Error(), "cubby.yaml:2: sandbox: is given twice");
  EXPECT_THAT(Load("- sandbox\n").Error(), HasSubstr("cubby.yaml:1: a list: must be a map"));
  EXPECT_THAT(Load("sandbox:\n  ownership: redis\n").Error(),
              HasSubstr("cubby.yaml:2: sandbox.ownership: text: must be a map"));
}

TEST(Section, AStrangersTextIsCutAndEscapedInMessages) {
  const Loaded loaded = Load(absl::StrCat("sandbox:\n  port: \"\\e", std::string(5000, 'x'),
                                          "\"\n  \"\\e", std::string(900, 'k'), "\": 1\n"));
  for (const std::string& text : {loaded.Error(), loaded.warnings.at(0)}) {
    EXPECT_LT(text.size(), 300U);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  }
}

TEST(Section, ManyProblemsAreCounted) {
  std::string yaml = "sandbox:\n  environment:\n";
  for (int i = 0; i < 30; ++i) absl::StrAppend(&yaml, "    ", i, ": x\n");
  const std::vector<std::string> lines = absl::StrSplit(Load(yaml).Error(), '\n');
  ASSERT_THAT(lines, SizeIs(21));
  EXPECT_EQ(lines.back(), "and 10 more");
}

TEST(Overrides, RefuseWhatIsNoSettingOrNoText) {
  EXPECT_EQ(Load("", {}, {{"replica", "3"}}).Error(), "sandbox.replica: there is no such setting");
  EXPECT_EQ(Load("", {}, {{"mounts", "/a"}}).Error(),
            "sandbox.mounts: can be given in a file only");
}

TEST(Overrides, OfTheBackendDecideTheDefaults) {
  EXPECT_EQ(Good(Load("sandbox: {use: container}\n", {}, {{"use", "microvm"}})).image,
            "python:3.12-slim");
}

TEST(Use, TakesTheClassPathsOfTheReference) {
  const std::vector<std::pair<const char*, BackendKind>> paths = {
      {"deerflow.sandbox.local:LocalSandboxProvider", BackendKind::kLocal},
      {"src.sandbox.local:LocalSandboxProvider", BackendKind::kLocal},
      {"deerflow.sandbox.local.local_sandbox_provider:LocalSandboxProvider", BackendKind::kLocal},
      {"deerflow.community.aio_sandbox:AioSandboxProvider", BackendKind::kContainer},
      {"deerflow.community.boxlite.provider:BoxliteProvider", BackendKind::kMicrovm},
      {"deerflow.community.tenki:TenkiSandboxProvider", BackendKind::kTenki},
      {"deerflow.community.e2b_sandbox:E2BSandboxProvider", BackendKind::kE2b}};
  for (const auto& [path, kind] : paths) {
    EXPECT_EQ(Good(Load(absl::StrCat("sandbox: {use: '", path, "'}\n"))).use, kind) << path;
  }
  for (const char* path :
       {"deerflow.community.other:Provider", "evil.sandbox.local:X", "deerflow.sandbox.local",
        "deerflow.sandbox.localx:X", "deerflow.sandbox.local:"}) {
    EXPECT_THAT(Load(absl::StrCat("sandbox: {use: '", path, "'}\n")).Error(),
                HasSubstr("must be one of auto, container"))
        << path;
  }
}

TEST(Numbers, AreDecimal) {
  const auto replicas = [](absl::string_view text) {
    return Load(absl::StrCat("sandbox: {replicas: '", text, "'}\n"));
  };
  EXPECT_EQ(Good(replicas("+5")).replicas, 5);
  EXPECT_EQ(Good(replicas("5.0")).replicas, 5);
  for (const char* text : {"5.5", "-1", "010", "0x10", "1_000", "nan", "inf", "1e400", "5 ", " 5",
                           "99999999999999999999", "+", "--5", "five", "1e", "true"}) {
    EXPECT_FALSE(replicas(text).config.ok()) << text;
  }
}

TEST(Numbers, BoundsAreExact) {
  const auto good = [](absl::string_view line) {
    return Load(absl::StrCat("sandbox:\n  ", line, "\n")).config.ok();
  };
  EXPECT_TRUE(good("replicas: 1"));
  EXPECT_TRUE(good("port: 65535"));
  EXPECT_FALSE(good("port: 65536"));
  EXPECT_FALSE(good("acquire_timeout: 0"));
  EXPECT_FALSE(good("bash_command_timeout: 0"));
  EXPECT_TRUE(good("burst_limit: 0"));
  EXPECT_TRUE(good("idle_timeout: 0"));
  EXPECT_FALSE(good("idle_timeout: -1"));
  EXPECT_TRUE(good("bash_output_max_chars: 0"));
  EXPECT_TRUE(good("ownership: {ttl_multiplier: 2}"));
  EXPECT_FALSE(good("ownership: {ttl_multiplier: 1.99}"));
  EXPECT_TRUE(good("ownership: {renewal_interval_seconds: 0.5}"));
  EXPECT_FALSE(good("ownership: {renewal_interval_seconds: 0}"));
}

// [box/tnk:test_idle_timeout_zero_*]
TEST(IdleTimeout, AnExplicitZeroIsKept) {
  EXPECT_EQ(Good(Load("sandbox: {use: e2b, idle_timeout: 0}\n")).idle_timeout,
            absl::ZeroDuration());
  EXPECT_EQ(Good(Load("sandbox: {use: e2b, idle_timeout: null}\n")).idle_timeout,
            absl::Seconds(1800));
}

TEST(CommandTimeout, HasTwoNamesAndOneValue) {
  EXPECT_EQ(Good(Load("sandbox: {bash_command_timeout: 5}\n")).command_timeout, absl::Seconds(5));
  EXPECT_EQ(Load("sandbox:\n  command_timeout: 5\n  bash_command_timeout: 6\n").Error(),
            "cubby.yaml:3: sandbox.bash_command_timeout: is given already as command_timeout");
}

// [E-5, C-11]
TEST(Environment, TakesTextsAndVariables) {
  const Loaded loaded =
      Load("sandbox:\n  environment: {A: $FROM, B: 5, C: true, D: '', E: 'cost $5', F: $5}\n",
           {{"FROM", "value"}});
  EXPECT_THAT(Good(loaded).environment,
              UnorderedElementsAre(Pair("A", "value"), Pair("B", "5"), Pair("C", "true"),
                                   Pair("D", ""), Pair("E", "cost $5"), Pair("F", "$5")));
}

TEST(Environment, RefusesBadNamesAndShapesWithoutShowingValues) {
  for (const char* entry : {"1A: hidden", "A-B: hidden", "A: [hidden]", "A: {x: hidden}",
                            "A: \"hidden\\0\"", "? [A]\n    : hidden"}) {
    const std::string error =
        Load(absl::StrCat("sandbox:\n  environment:\n    ", entry, "\n")).Error();
    EXPECT_THAT(error, HasSubstr("cubby.yaml:3: sandbox.environment."));
    EXPECT_THAT(error, Not(HasSubstr("hidden")));
  }
  EXPECT_EQ(Load("sandbox:\n  environment:\n    A:\n").Error(),
            "cubby.yaml:3: sandbox.environment.A: nothing: must be text (\"\" is empty)");
  EXPECT_EQ(Load("sandbox:\n  environment:\n    A: 1\n    A: 2\n").Error(),
            "cubby.yaml:4: sandbox.environment: \"A\" is given twice");
}

// [P-33]
TEST(Mounts, AreReadInOrder) {
  const Config config =
      Good(Load("sandbox:\n"
                "  mounts:\n"
                "    - host_path: $DATA\n"
                "      container_path: /mnt/data/\n"
                "      read_only: true\n"
                "    - {host_path: /b, container_path: /mnt/b}\n",
                {{"DATA", "/srv/data"}}));
  ASSERT_THAT(config.mounts, SizeIs(2));
  EXPECT_EQ(config.mounts[0].host_path, "/srv/data");
  EXPECT_EQ(config.mounts[0].guest_path, "/mnt/data");
  EXPECT_EQ(config.mounts[0].access, MountAccess::kReadOnly);
  EXPECT_EQ(config.mounts[1].access, MountAccess::kReadWrite);
}

TEST(Mounts, SayWhatIsWrongWithWhichOne) {
  EXPECT_EQ(
      Load("sandbox:\n"
           "  mounts:\n"
           "    - {host_path: rel, container_path: /a}\n"
           "    - {host_path: /a, container_path: /a/../b}\n"
           "    - {host_path: /a, container_path: /a, read_only: maybe}\n"
           "    - {container_path: /a}\n"
           "    - text\n"
           "    - {host_path: [], container_path: $NOT_SET}\n")
          .Error(),
      "cubby.yaml:3: sandbox.mounts[0].host_path: \"rel\": must be an absolute path without "
      "`..`\n"
      "cubby.yaml:4: sandbox.mounts[1].container_path: \"/a/../b\": must be an absolute path "
      "without `..`\n"
      "cubby.yaml:5: sandbox.mounts[2].read_only: \"maybe\": must be true or false\n"
      "cubby.yaml:6: sandbox.mounts[3]: host_path is missing\n"
      "cubby.yaml:7: sandbox.mounts[4]: text: must be a map\n"
      "cubby.yaml:8: sandbox.mounts[5].host_path: a list: must be an absolute path without "
      "`..`\n"
      "cubby.yaml:8: sandbox.mounts[5].container_path: the environment variable NOT_SET is not "
      "set");
}

// [L-34]
TEST(Mounts, TheFirstWinsAPlaceAndTheOthersAreWarnedAbout) {
  const Loaded loaded = Load(
      "sandbox:\n"
      "  mounts:\n"
      "    - {host_path: /a, container_path: /mnt/x}\n"
      "    - {host_path: /b, container_path: /mnt/x/}\n");
  ASSERT_THAT(Good(loaded).mounts, SizeIs(1));
  EXPECT_EQ(loaded.config->mounts[0].host_path, "/a");
  EXPECT_THAT(loaded.warnings, ElementsAre(HasSubstr("cubby.yaml:4: sandbox.mounts[1]: /mnt/x")));
}

// [O-12]
TEST(RedisUrl, ComesFromTheFileElseFromVariablesInOrder) {
  const auto url = [](const std::string& yaml, const testing::Variables& variables) {
    return Good(Load(yaml, variables)).ownership_redis_url.Reveal();
  };
  testing::Variables variables = {{"REDIS_URL", "redis://third"}};
  EXPECT_EQ(url("", {}), "redis://localhost:6379/0");
  EXPECT_EQ(url("", variables), "redis://third");
  variables["DEER_FLOW_STREAM_BRIDGE_REDIS_URL"] = "redis://second";
  EXPECT_EQ(url("", variables), "redis://second");
  variables["DEER_FLOW_SANDBOX_OWNERSHIP_REDIS_URL"] = "redis://first";
  EXPECT_EQ(url("", variables), "redis://first");
  EXPECT_EQ(url("sandbox: {ownership: {redis_url: 'redis://file'}}", variables), "redis://file");
  EXPECT_EQ(url("sandbox: {ownership: {redis_url: ''}}", variables), "redis://first");
}

TEST(RedisUrl, AVariableThatDoesNotFitIsWarnedAboutUnseen) {
  const Loaded loaded = Load("sandbox: {}", {{"REDIS_URL", "sentinel://user:hidden@host"}});
  EXPECT_EQ(Good(loaded).ownership_redis_url.Reveal(), "redis://localhost:6379/0");
  EXPECT_THAT(loaded.warnings, ElementsAre(HasSubstr("$REDIS_URL is not used")));
  EXPECT_THAT(loaded.warnings[0], Not(HasSubstr("hidden")));
}

TEST(KeyPrefix, LosesItsTrailingColon) {
  EXPECT_EQ(Good(Load("sandbox: {ownership: {key_prefix: 'a:b:'}}\n")).ownership_key_prefix, "a:b");
}

TEST(ApiKey, ComesFromTheVariablesOfTheCloudInUse) {
  const testing::Variables variables = {{"TENKI_AUTH_TOKEN", "tenki"}, {"E2B_API_KEY", "e2b"}};
  const auto key = [&](const std::string& section) {
    return Good(Load(absl::StrCat("sandbox: {", section, "}\n"), variables)).api_key.Reveal();
  };
  EXPECT_EQ(key("use: tenki"), "tenki");
  EXPECT_EQ(key("use: e2b"), "e2b");
  EXPECT_EQ(key("use: container"), "");
  EXPECT_EQ(key("use: e2b, api_key: mine"), "mine");
  EXPECT_THAT(Load("sandbox: {use: e2b}\n").warnings, ElementsAre(HasSubstr("E2B_API_KEY")));
}

// [e2b:test_e2b_config_*, test_capacity_default_config_values]
TEST(E2b, HasRulesOfItsOwn) {
  const auto e2b = [](const std::string& rest) {
    return Good(Load(absl::StrCat("sandbox: {use: e2b, ", rest, "}\n"), {{"E2B_API_KEY", "k"}}));
  };
  EXPECT_EQ(e2b("replicas: 2").overflow_policy, OverflowPolicy::kWait);
  EXPECT_EQ(e2b("overflow_policy: burst").overflow_policy, OverflowPolicy::kReject);
  EXPECT_EQ(e2b("overflow_policy: burst, burst_limit: 1").overflow_policy, OverflowPolicy::kBurst);
  EXPECT_EQ(e2b("idle_timeout: 90000").idle_timeout, absl::Seconds(86400));
  EXPECT_EQ(e2b("image: mine").cloud_template, "mine");
  EXPECT_EQ(e2b("image: mine, template: theirs").cloud_template, "theirs");
  EXPECT_EQ(e2b("image: mine, template: ''").cloud_template, "mine");
  EXPECT_EQ(Good(Load("sandbox: {idle_timeout: 90000}\n")).idle_timeout, absl::Seconds(90000));
}

TEST(Reconciliation, IsRaisedToItsFloors) {
  const Config config =
      Good(Load("sandbox: {reconciliation_interval_seconds: 0, reconciliation_grace_seconds: -1,\n"
                "  reconciliation_orphan_ttl_seconds: -1, reconciliation_max_pages: 0,\n"
                "  reconciliation_max_items: -5, reconciliation_max_seconds: 0}\n"));
  EXPECT_EQ(config.reconciliation_interval, absl::Seconds(1));
  EXPECT_EQ(config.reconciliation_grace, absl::ZeroDuration());
  EXPECT_EQ(config.reconciliation_orphan_ttl, absl::ZeroDuration());
  EXPECT_EQ(config.reconciliation_max_pages, 1);
  EXPECT_EQ(config.reconciliation_max_items, 1);
  EXPECT_EQ(config.reconciliation_max_time, absl::Milliseconds(100));
}

}  // namespace
}  // namespace cubby::config
