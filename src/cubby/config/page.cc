#include "cubby/config/page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cubby/config/setting.h"
#include "cubby/config/setting_value.h"
#include "cubby/config/yaml_tree.h"

namespace cubby::config {
namespace {

std::string Code(absl::string_view text) { return absl::StrCat("`", text, "`"); }

std::string Defaults(const Setting& setting) {
  std::vector<std::string> parts;
  if (!setting.fallback.empty()) parts.push_back(Code(setting.fallback));
  for (const PerBackend& own : setting.fallbacks) {
    parts.push_back(absl::StrCat(BackendName(own.backend), ": ", Code(own.text)));
  }
  for (const PerBackend& variable : setting.variables) {
    const bool any = variable.backend == BackendKind::kAuto;
    parts.push_back(absl::StrCat(any ? "" : absl::StrCat(BackendName(variable.backend), ": "),
                                 Code(absl::StrCat("$", variable.text)), " if set"));
  }
  return parts.empty() ? "none" : absl::StrJoin(parts, ", ");
}

std::string Backends(const Setting& setting) {
  if (setting.backends.empty()) return "all";
  return absl::StrJoin(setting.backends, ", ", [](std::string* out, BackendKind kind) {
    absl::StrAppend(out, BackendName(kind));
  });
}

std::string Values(const Setting& setting) {
  std::string text = Allowed(setting);
  if (setting.range.floor) {
    absl::StrAppend(&text, "; below ", *setting.range.floor, " it is raised to that");
  }
  if (!setting.unit.empty() && setting.unit != "seconds") {
    absl::StrAppend(&text, " (", setting.unit, ")");
  }
  return text;
}

std::string Meaning(const Setting& setting) {
  if (setting.other_key.empty()) return std::string(setting.help);
  return absl::StrCat(setting.help, ". ", Code(setting.other_key), " is the same");
}

}  // namespace

std::string ConfigurationPage() {
  std::string page = absl::StrCat(
      "# Configuration\n"
      "\n"
      "<!-- Made by `cubby-config-page` from src/cubby/config/settings.cc. -->\n"
      "\n"
      "The settings of an installation are the section `sandbox` of a YAML file. Other sections "
      "are "
      "not looked at, so that a DeerFlow `config.yaml` can be used as it is. The library "
      "reads it (`LoadConfig` in `cubby/config.h`); the command does not yet.\n"
      "\n"
      "```yaml\n"
      "sandbox:\n"
      "  use: container\n"
      "  image: python:3.12-slim\n"
      "  replicas: 5\n"
      "  overflow_policy: wait\n"
      "  environment:\n"
      "    TOKEN: $MY_TOKEN\n"
      "  mounts:\n"
      "    - host_path: /srv/data\n"
      "      container_path: /mnt/data\n"
      "      read_only: true\n"
      "```\n"
      "\n"
      "## Which file\n"
      "\n"
      "The first of these: the file that was asked for; `$CUBBY_CONFIG`; `cubby.yaml` in the "
      "current "
      "folder; `cubby.yaml` in the state directory. The first two must be there. Without a file "
      "the "
      "defaults hold. A file may have at most ",
      kMaxFileBytes >> 20, " MiB, and lists and maps nested at most ", kMaxDepth,
      " deep, seen through aliases.\n"
      "\n"
      "## Values\n"
      "\n"
      "- `$NAME` or `${NAME}` as a whole value is the environment variable of that name; it is an "
      "error when it is not set. Messages name the variable and never show its value. Any other "
      "text "
      "with a `$` is taken as it is.\n"
      "- An empty value is the same as none. Numbers are decimal.\n"
      "- A bad value is an error that says where it is and what is allowed: `cubby.yaml:12: "
      "sandbox.overflow_policy: \"foo\": must be one of burst, wait, reject`. All bad values are "
      "reported, a line each. A key that is given twice is an error too.\n"
      "- Keys that are not known are ignored; one warning lists them all. A setting that is for "
      "other "
      "backends than the one in use is checked, and has no effect.\n"
      "\n"
      "## Settings\n"
      "\n"
      "| key | value | default | backends | what it does |\n"
      "| --- | --- | --- | --- | --- |\n");
  for (const Setting& setting : Settings()) {
    absl::StrAppend(&page, "| ", Code(setting.key), " | ", Values(setting), " | ",
                    Defaults(setting), " | ", Backends(setting), " | ", Meaning(setting), " |\n");
  }
  absl::StrAppend(&page,
                  "\n## Entries of `mounts`\n"
                  "\n"
                  "| key | value | default | what it does |\n"
                  "| --- | --- | --- | --- |\n");
  for (const MountSetting& setting : MountSettings()) {
    absl::StrAppend(&page, "| ", Code(setting.key), " | ", Allowed(setting), " | ",
                    setting.required ? "must be given" : Code("false"), " | ", setting.help,
                    " |\n");
  }
  absl::StrAppend(
      &page,
      "\n## Class paths\n"
      "\n"
      "`use` takes the class path of a DeerFlow provider, `deerflow.MODULE:CLASS`, with any "
      "class of these modules or of modules below them:\n"
      "\n"
      "| module | backend |\n"
      "| --- | --- |\n");
  for (const auto& [module, kind] : ReferenceModules()) {
    absl::StrAppend(&page, "| ", Code(absl::StrCat("deerflow.", module)), " | ", BackendName(kind),
                    " |\n");
  }
  return page;
}

}  // namespace cubby::config
