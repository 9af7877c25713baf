#include "cubby/image/manifest.h"

#include <sys/utsname.h>

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cubby/base/status_macros.h"
#include "cubby/image/digest.h"
#include "nlohmann/json.hpp"

namespace cubby {
namespace {

using nlohmann::json;

constexpr size_t kMaxEntries = 1000;

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("image manifest: ", what));
}

std::string GetString(const json& object, const char* key) {
  if (!object.is_object()) return "";
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> GetStrings(const json& object, const char* key) {
  std::vector<std::string> strings;
  if (!object.is_object()) return strings;
  auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return strings;
  for (const json& item : *found) {
    if (item.is_string()) strings.push_back(item.get<std::string>());
  }
  return strings;
}

const json& GetObject(const json& object, const char* key) {
  static const json& empty = *new json(json::object());
  if (!object.is_object()) return empty;
  auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : empty;
}

absl::StatusOr<Descriptor> ParseDescriptor(const json& object) {
  Descriptor descriptor{.media_type = GetString(object, "mediaType"),
                        .digest = GetString(object, "digest")};
  if (!IsDigest(descriptor.digest)) return Malformed("a digest is missing or is not SHA-256");
  auto size = object.find("size");
  if (size == object.end() || !size->is_number_integer() || size->get<int64_t>() < 0) {
    return Malformed("a size is missing");
  }
  descriptor.size = size->get<int64_t>();
  const json& platform = GetObject(object, "platform");
  descriptor.architecture = GetString(platform, "architecture");
  descriptor.os = GetString(platform, "os");
  descriptor.variant = GetString(platform, "variant");
  const json& annotations = GetObject(object, "annotations");
  descriptor.reference_name = GetString(annotations, "org.opencontainers.image.ref.name");
  descriptor.full_name = GetString(annotations, "io.containerd.image.name");
  return descriptor;
}

absl::StatusOr<std::vector<Descriptor>> ParseDescriptors(const json& object, const char* key) {
  std::vector<Descriptor> descriptors;
  auto list = object.find(key);
  if (list == object.end() || !list->is_array() || list->size() > kMaxEntries) {
    return Malformed(absl::StrCat("no list of ", key, ", or too long a one"));
  }
  for (const json& item : *list) {
    CUBBY_ASSIGN_OR_RETURN(Descriptor descriptor, ParseDescriptor(item));
    descriptors.push_back(std::move(descriptor));
  }
  return descriptors;
}

// A nested JSON text must not exhaust the parser's stack.
absl::StatusOr<json> ParseObject(absl::string_view bytes) {
  if (bytes.size() > kMaxManifestBytes) return Malformed("larger than 4 MiB");
  constexpr int kMaxDepth = 64;
  const json object = json::parse(
      bytes.begin(), bytes.end(),
      [](int depth, json::parse_event_t, json&) { return depth <= kMaxDepth; }, false);
  if (!object.is_object()) return Malformed("not a JSON object");
  return object;
}

}  // namespace

absl::StatusOr<std::variant<Manifest, std::vector<Descriptor>>> ParseManifest(
    absl::string_view media_type, absl::string_view bytes) {
  CUBBY_ASSIGN_OR_RETURN(const json object, ParseObject(bytes));
  const std::string own_type = GetString(object, "mediaType");
  const absl::string_view type = own_type.empty() ? media_type : absl::string_view(own_type);
  if (object.contains("manifests") &&
      (type == kOciIndexType || type == kDockerIndexType || !object.contains("layers"))) {
    CUBBY_ASSIGN_OR_RETURN(std::vector<Descriptor> entries, ParseDescriptors(object, "manifests"));
    return entries;
  }
  if (!object.contains("config")) {
    return Malformed("neither an image nor an index (schema 1 images are not supported)");
  }
  Manifest manifest;
  CUBBY_ASSIGN_OR_RETURN(manifest.config, ParseDescriptor(GetObject(object, "config")));
  CUBBY_ASSIGN_OR_RETURN(manifest.layers, ParseDescriptors(object, "layers"));
  return manifest;
}

absl::StatusOr<Descriptor> ChoosePlatform(const std::vector<Descriptor>& entries,
                                          const std::string& architecture) {
  std::set<std::string> offered;
  for (const Descriptor& entry : entries) {
    // Attestations and the like stand in indexes as platform "unknown".
    if (entry.architecture == "unknown") continue;
    if (entry.architecture.empty() ||
        (entry.architecture == architecture && (entry.os.empty() || entry.os == "linux"))) {
      return entry;
    }
    offered.insert(absl::StrCat(entry.os, "/", entry.architecture));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the image does not exist for linux/", architecture, "; it offers ",
                   offered.empty() ? "nothing" : absl::StrJoin(offered, ", ")));
}

absl::StatusOr<ParsedConfig> ParseConfig(absl::string_view bytes) {
  CUBBY_ASSIGN_OR_RETURN(const json object, ParseObject(bytes));
  ParsedConfig parsed;
  ImageConfig& config = parsed.config;
  config.architecture = GetString(object, "architecture");
  config.os = GetString(object, "os");
  const json& run = GetObject(object, "config");
  config.environment = GetStrings(run, "Env");
  config.user = GetString(run, "User");
  config.working_directory = GetString(run, "WorkingDir");
  config.entrypoint = GetStrings(run, "Entrypoint");
  config.command = GetStrings(run, "Cmd");
  for (const auto& [key, value] : GetObject(run, "Labels").items()) {
    if (value.is_string()) config.labels[key] = value.get<std::string>();
  }
  parsed.diff_ids = GetStrings(GetObject(object, "rootfs"), "diff_ids");
  std::string error;
  absl::Time created;
  if (absl::ParseTime(absl::RFC3339_full, GetString(object, "created"), &created, &error)) {
    parsed.created = created;
  }
  return parsed;
}

std::string HostArchitecture() {
  utsname host{};
  uname(&host);
  const std::string machine = host.machine;
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  return machine;
}

}  // namespace cubby
