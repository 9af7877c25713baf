#include "cubby/image/rootfs_record.h"

#include <utility>

#include "cubby/image/digest.h"
#include "cubby/image/manifest.h"
#include "nlohmann/json.hpp"

namespace cubby {

using nlohmann::json;

// The form of an OCI image configuration with its layers added, so that the parser which checks
// every type of a stranger's configuration reads it too.
std::string FormatRootfsRecord(const RootfsRecord& record) {
  const ImageConfig& config = record.config;
  const json object = {{"architecture", config.architecture},
                       {"os", config.os},
                       {"config",
                        {{"Env", config.environment},
                         {"User", config.user},
                         {"WorkingDir", config.working_directory},
                         {"Entrypoint", config.entrypoint},
                         {"Cmd", config.command},
                         {"Labels", config.labels}}},
                       {"layers", record.layer_digests}};
  return object.dump(1, ' ', false, json::error_handler_t::replace);
}

std::optional<RootfsRecord> ParseRootfsRecord(absl::string_view text) {
  absl::StatusOr<ParsedConfig> parsed = ParseConfig(text);
  const json object = json::parse(text.begin(), text.end(), nullptr, false);
  if (!parsed.ok() || !object.is_object() || !object.contains("layers") ||
      !object.contains("config") || !object["layers"].is_array()) {
    return std::nullopt;
  }
  RootfsRecord record{.config = std::move(parsed->config)};
  for (const json& layer : object["layers"]) {
    if (!layer.is_string() || !IsDigest(layer.get<std::string>())) return std::nullopt;
    record.layer_digests.push_back(layer.get<std::string>());
  }
  return record;
}

}  // namespace cubby
