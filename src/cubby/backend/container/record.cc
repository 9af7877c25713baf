#include "cubby/backend/container/record.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/file.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"
#include "nlohmann/json.hpp"

namespace cubby {
namespace {

using nlohmann::json;

constexpr size_t kMaxRecordBytes = 4 << 20;

json ToJson(const ProcessIdentity& identity) {
  return {
      {"pid", identity.pid}, {"start_time", identity.start_time}, {"boot_id", identity.boot_id}};
}

// The field of an object when it has the type of `fallback`, else `fallback`: records of older and
// newer versions can be read, and a damaged one does not throw.
template <typename T>
T Get(const json& object, const char* key, T fallback) {
  auto found = object.find(key);
  if (found == object.end()) return fallback;
  const json as_json(fallback);
  const bool numbers = found->is_number() && as_json.is_number();
  if (!numbers && found->type() != as_json.type()) return fallback;
  return found->template get<T>();
}

std::vector<std::string> GetStrings(const json& object, const char* key) {
  std::vector<std::string> strings;
  auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return strings;
  for (const json& item : *found) {
    if (item.is_string()) strings.push_back(item.get<std::string>());
  }
  return strings;
}

ProcessIdentity GetIdentity(const json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return {};
  return {.pid = Get(*found, "pid", pid_t{0}),
          .start_time = Get(*found, "start_time", uint64_t{0}),
          .boot_id = Get(*found, "boot_id", std::string())};
}

}  // namespace

absl::Status WriteRecord(const std::string& path, const MachineRecord& record) {
  const MachineInfo& info = record.info;
  json labels = json::object();
  for (const auto& [key, value] : info.labels) labels[key] = value;
  const json object = {
      {"id", info.id},
      {"image", info.image},
      {"image_digest", info.image_digest},
      {"layers", info.layers},
      {"state", info.state == SandboxState::kRunning ? "running" : "creating"},
      {"created_us", absl::ToUnixMicros(info.created)},
      {"memory_bytes", info.limits.memory_bytes},
      {"cpus", info.limits.cpus},
      {"processes", info.limits.processes},
      {"labels", labels},
      {"environment", info.defaults.environment},
      {"user", info.defaults.user},
      {"creator", ToJson(record.creator)},
      {"init", ToJson(record.init)},
      {"runtime", record.runtime},
  };
  return ReplaceFile(path, object.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

absl::StatusOr<MachineRecord> ReadRecord(const std::string& path) {
  CUBBY_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxRecordBytes));
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) {
    return MakeError(absl::StatusCode::kDataLoss, absl::StrCat(path, ": damaged machine record"),
                     {.path = path});
  }
  MachineRecord record;
  MachineInfo& info = record.info;
  info.id = Get(object, "id", std::string());
  info.image = Get(object, "image", std::string());
  info.image_digest = Get(object, "image_digest", std::string());
  info.state = Get(object, "state", std::string()) == "running" ? SandboxState::kRunning
                                                                : SandboxState::kCreating;
  info.created = absl::FromUnixMicros(Get(object, "created_us", int64_t{0}));
  info.limits.memory_bytes = Get(object, "memory_bytes", int64_t{0});
  info.limits.cpus = Get(object, "cpus", 0.0);
  info.limits.processes = Get(object, "processes", int64_t{0});
  if (auto labels = object.find("labels"); labels != object.end() && labels->is_object()) {
    for (const auto& [key, value] : labels->items()) {
      if (value.is_string()) info.labels[key] = value.get<std::string>();
    }
  }
  info.defaults.environment = GetStrings(object, "environment");
  info.defaults.user = Get(object, "user", std::string());
  info.layers = GetStrings(object, "layers");
  record.creator = GetIdentity(object, "creator");
  record.init = GetIdentity(object, "init");
  record.runtime = Get(object, "runtime", std::string());
  return record;
}

}  // namespace cubby
