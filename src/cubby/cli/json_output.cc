#include "cubby/cli/json_output.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "cubby/cli/output.h"

namespace cubby::cli {
namespace {

const char* FateName(Fate fate) {
  switch (fate) {
    case Fate::kUnharmed:
      return "unharmed";
    case Fate::kRetryable:
      return "retryable";
    case Fate::kTerminal:
      return "terminal";
  }
  return "unharmed";
}

void PutStream(Json* object, const std::string& name, const OutputStream& stream) {
  PutBytes(object, name, stream.bytes);
  (*object)[name + "_total_bytes"] = stream.total_bytes;
  (*object)[name + "_truncated"] = stream.truncated;
  if (stream.truncated) (*object)[name + "_omitted_at"] = stream.omitted_at;
}

}  // namespace

void PutBytes(Json* object, const std::string& key, absl::string_view bytes) {
  if (IsUtf8(bytes)) {
    (*object)[key] = std::string(bytes);
  } else {
    (*object)[key + "_base64"] = absl::Base64Escape(bytes);
  }
}

Json ErrorJson(const absl::Status& status) {
  const ErrorDetail detail = GetErrorDetail(status);
  Json error;
  error["code"] = absl::StatusCodeToString(status.code());
  PutBytes(&error, "message", status.message());
  if (detail.path.empty()) {
    error["path"] = nullptr;
  } else {
    PutBytes(&error, "path", detail.path);
  }
  error["errno"] = detail.error_number;
  error["fate"] = FateName(detail.fate);
  return {{"error", error}};
}

Json StagesJson(const std::vector<Stage>& stages) {
  Json list = Json::array();
  for (const Stage& stage : stages) {
    list.push_back(
        {{"name", stage.name}, {"milliseconds", absl::ToDoubleMicroseconds(stage.duration) / 1e3}});
  }
  return list;
}

Json LimitsJson(const Limits& limits) {
  return {{"memory_bytes", limits.memory_bytes},
          {"cpus", limits.cpus},
          {"processes", limits.processes}};
}

Json ExecResultJson(const ExecResult& result) {
  Json object;
  object["execution_id"] = result.execution_id;
  object["exit_code"] = result.exit_code;
  object["signal"] = result.signal;
  object["timed_out"] = result.timed_out;
  object["out_of_memory"] = result.out_of_memory;
  object["wall_milliseconds"] = absl::ToDoubleMicroseconds(result.wall_time) / 1e3;
  PutStream(&object, "stdout", result.out);
  PutStream(&object, "stderr", result.err);
  return object;
}

absl::Status PrintJson(const Context& context, const Json& value) {
  return context.Print(
      absl::StrCat(value.dump(-1, ' ', false, Json::error_handler_t::replace), "\n"));
}

}  // namespace cubby::cli
