// A configuration file from a stranger, whole: parsed, and its section read.
#include <stddef.h>
#include <stdint.h>

#include <string>

#include "cubby/config/section_reader.h"
#include "cubby/config/yaml_tree.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto document = cubby::config::ParseYaml("cubby.yaml", text);
  if (!document.ok()) return 0;
  cubby::config::SectionReader reader("cubby.yaml", [](const std::string& variable) {
    return variable.size() % 2 == 0 ? std::optional<std::string>("5") : std::nullopt;
  });
  reader.ReadDocument(**document);
  static_cast<void>(reader.Finish());
  return 0;
}
