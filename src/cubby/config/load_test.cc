// Which file is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "absl/strings/str_cat.h"
#include "cubby/base/file.h"
#include "cubby/config/testing/load.h"
#include "cubby/config/yaml_tree.h"
#include "cubby/status.h"

namespace cubby::config {
namespace {

using ::testing::HasSubstr;

class Search : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::Create(::testing::TempDir(), "search-");
    ASSERT_TRUE(folder.ok()) << folder.status();
    folder_.emplace(*std::move(folder));
    for (const char* name : {"work", "state"}) ASSERT_TRUE(MakeDirectories(Path(name)).ok());
    options_ = {.working_directory = Path("work"), .state_dir = Path("state")};
    options_.environment = [this](const std::string& name) -> std::optional<std::string> {
      return name == "CUBBY_CONFIG" ? variable_ : std::nullopt;
    };
  }

  [[nodiscard]] std::string Path(absl::string_view name) const {
    return absl::StrCat(folder_->path(), "/", name);
  }
  void Write(absl::string_view name, int replicas) {
    ASSERT_TRUE(
        WriteFileAtomically(Path(name), absl::StrCat("sandbox: {replicas: ", replicas, "}\n"))
            .ok());
  }
  // "replicas file"
  std::string Found() {
    const absl::StatusOr<Config> config = LoadConfig(options_);
    if (!config.ok()) return config.status().ToString();
    return absl::StrCat(config->replicas, " ", config->file);
  }

  std::optional<TemporaryDirectory> folder_;
  std::optional<std::string> variable_;
  ConfigOptions options_;
};

TEST_F(Search, TakesTheFirstOfFourPlaces) {
  EXPECT_EQ(Found(), "3 ");
  Write("state/cubby.yaml", 14);
  EXPECT_EQ(Found(), "14 " + Path("state/cubby.yaml"));
  Write("work/cubby.yaml", 13);
  EXPECT_EQ(Found(), "13 " + Path("work/cubby.yaml"));
  Write("variable.yaml", 12);
  variable_ = Path("variable.yaml");
  EXPECT_EQ(Found(), "12 " + Path("variable.yaml"));
  Write("asked.yaml", 11);
  options_.path = Path("asked.yaml");
  EXPECT_EQ(Found(), "11 " + Path("asked.yaml"));
}

TEST_F(Search, AnEmptyVariableIsNone) {
  variable_ = "";
  EXPECT_EQ(Found(), "3 ");
}

TEST_F(Search, AFileThatWasAskedForMustBeThere) {
  Write("work/cubby.yaml", 13);
  options_.path = Path("missing.yaml");
  absl::StatusOr<Config> config = LoadConfig(options_);
  EXPECT_EQ(config.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(config.status().message()), HasSubstr("missing.yaml"));
  options_.path.clear();
  variable_ = Path("missing.yaml");
  config = LoadConfig(options_);
  EXPECT_EQ(config.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(config.status().message()), HasSubstr("$CUBBY_CONFIG"));
}

TEST_F(Search, AFileThatCannotBeReadIsNotPassedOver) {
  ASSERT_TRUE(MakeDirectories(Path("work/cubby.yaml")).ok());
  Write("state/cubby.yaml", 14);
  EXPECT_FALSE(LoadConfig(options_).ok());
}

TEST_F(Search, AFileAboveTheLimitIsRefused) {
  const std::string full = absl::StrCat("sandbox: {}\n#", std::string(kMaxFileBytes - 13, 'x'));
  ASSERT_EQ(full.size(), kMaxFileBytes);
  ASSERT_TRUE(WriteFileAtomically(Path("work/cubby.yaml"), full).ok());
  EXPECT_TRUE(LoadConfig(options_).ok()) << Found();
  ASSERT_TRUE(WriteFileAtomically(Path("work/cubby.yaml"), full + "x").ok());
  const absl::StatusOr<Config> config = LoadConfig(options_);
  EXPECT_EQ(config.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(config.status().message()), HasSubstr("larger than the 1 MiB"));
}

TEST_F(Search, VariablesComeFromTheProcessUnlessSaid) {
  options_.environment = nullptr;
  ASSERT_TRUE(WriteFileAtomically(Path("asked.yaml"), "sandbox: {image: $CUBBY_TEST_IMAGE}").ok());
  options_.path = Path("asked.yaml");
  EXPECT_EQ(setenv("CUBBY_TEST_IMAGE", "from-process", 1), 0);
  const absl::StatusOr<Config> config = LoadConfig(options_);
  EXPECT_EQ(unsetenv("CUBBY_TEST_IMAGE"), 0);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->image, "from-process");
}

}  // namespace
}  // namespace cubby::config
