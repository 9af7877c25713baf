#include "cubby/config/testing/load.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cubby/base/file.h"
#include "cubby/base/log.h"

namespace cubby::config::testing {

std::string Loaded::Error() const {
  return absl::StrReplaceAll(config.status().message(), {{folder + "/", ""}});
}

std::vector<std::string> LoggedBy(const std::function<void()>& act) {
  std::vector<std::string> lines;
  SetLogSink([&](Severity severity, absl::string_view message) {
    if (severity >= Severity::kWarning) lines.emplace_back(message);
  });
  act();
  SetLogSink([](Severity, absl::string_view) {});
  return lines;
}

Loaded Load(const std::string& yaml, const Variables& variables, const Overrides& overrides) {
  auto folder = TemporaryDirectory::Create(::testing::TempDir(), "config-");
  EXPECT_TRUE(folder.ok()) << folder.status();
  Loaded loaded{.config = absl::UnknownError("not loaded"), .folder = folder->path()};
  EXPECT_TRUE(WriteFileAtomically(folder->path() + "/cubby.yaml", yaml).ok());
  ConfigOptions options{.working_directory = folder->path(), .overrides = overrides};
  options.environment = [&](const std::string& name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    return at != variables.end() ? std::optional<std::string>(at->second) : std::nullopt;
  };
  loaded.warnings = LoggedBy([&] { loaded.config = LoadConfig(options); });
  for (std::string& warning : loaded.warnings) {
    warning = absl::StrReplaceAll(warning, {{folder->path() + "/", ""}});
  }
  return loaded;
}

}  // namespace cubby::config::testing
