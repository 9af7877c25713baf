// Finds the file and reads it.
#include <stdlib.h>

#include "absl/strings/str_cat.h"
#include "cubby/base/file.h"
#include "cubby/base/log.h"
#include "cubby/base/state_dir.h"
#include "cubby/base/status_macros.h"
#include "cubby/config.h"
#include "cubby/config/section_reader.h"
#include "cubby/config/yaml_tree.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr absl::string_view kFileName = "cubby.yaml";

std::optional<std::string> ProcessEnvironment(const std::string& name) {
  const char* value = getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

struct File {
  std::string path;  // empty: there is none
  std::string text;
};

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadSmallFile(path, config::kMaxFileBytes);
  if (absl::IsResourceExhausted(text.status())) {
    return MakeError(absl::StatusCode::kResourceExhausted,
                     absl::StrCat(path, ": larger than the ", config::kMaxFileBytes >> 20,
                                  " MiB that a configuration may have"),
                     {.path = path});
  }
  return text;
}

absl::StatusOr<File> FindFile(const ConfigOptions& options, const config::Lookup& lookup) {
  std::string path = options.path;
  std::string who = "configuration";
  if (path.empty()) {
    path = lookup("CUBBY_CONFIG").value_or("");
    who = "$CUBBY_CONFIG";
  }
  if (!path.empty()) {
    absl::StatusOr<std::string> text = ReadFile(path);
    if (!text.ok()) return Annotate(text.status(), who);
    return File{path, *std::move(text)};
  }
  const std::string state = options.state_dir.empty() ? StateDir::DefaultRoot() : options.state_dir;
  for (const std::string& folder : {options.working_directory, state}) {
    path = folder.empty() ? std::string(kFileName) : absl::StrCat(folder, "/", kFileName);
    absl::StatusOr<std::string> text = ReadFile(path);
    if (text.ok()) return File{path, *std::move(text)};
    if (!absl::IsNotFound(text.status())) return Annotate(text.status(), who);
  }
  return File{};
}

}  // namespace

absl::StatusOr<Config> LoadConfig(const ConfigOptions& options) {
  const config::Lookup lookup = options.environment ? options.environment : ProcessEnvironment;
  CUBBY_ASSIGN_OR_RETURN(const File file, FindFile(options, lookup));
  config::SectionReader reader(file.path, lookup);
  if (!file.path.empty()) {
    CUBBY_ASSIGN_OR_RETURN(const config::YamlRef document, config::ParseYaml(file.path, file.text));
    reader.ReadDocument(*document);
  }
  for (const auto& [key, text] : options.overrides) reader.Override(key, text);
  absl::StatusOr<Config> config = reader.Finish();
  for (const std::string& warning : reader.warnings()) Log(Severity::kWarning, warning);
  return config;
}

}  // namespace cubby
