#include "cubby/mcp/json_rpc.h"

#include <utility>

namespace cubby::mcp {
namespace {

Message Malformed(int error, std::string why, Json id = nullptr) {
  return {.kind = Message::Kind::kMalformed,
          .id = std::move(id),
          .error = error,
          .why = std::move(why)};
}

}  // namespace

Message ParseMessage(absl::string_view line) {
  bool too_deep = false;
  const Json json = Json::parse(
      line.begin(), line.end(),
      [&too_deep](int depth, Json::parse_event_t, Json&) {
        too_deep = too_deep || depth > kMaxJsonDepth;
        return !too_deep;
      },
      /*allow_exceptions=*/false);
  if (too_deep) return Malformed(kInvalidRequest, "nested too deeply");
  if (json.is_discarded()) return Malformed(kParseError, "not JSON");
  if (json.is_array()) return Malformed(kInvalidRequest, "batches are not supported");
  if (!json.is_object()) return Malformed(kInvalidRequest, "not an object");
  const Json id = json.value("id", Json());
  const bool has_id = json.contains("id");
  if (has_id && !id.is_string() && !id.is_number_integer()) {
    return Malformed(kInvalidRequest, "the id must be a string or an integer");
  }
  if (json.value("jsonrpc", Json()) != "2.0") {
    return Malformed(kInvalidRequest, "not JSON-RPC 2.0", id);
  }
  if (!json.contains("method")) {
    if (has_id && (json.contains("result") || json.contains("error"))) {
      return {.kind = Message::Kind::kResponse, .id = id};
    }
    return Malformed(kInvalidRequest, "neither a method nor an answer", id);
  }
  if (!json["method"].is_string()) return Malformed(kInvalidRequest, "the method is no string", id);
  Json params = json.value("params", Json::object());
  if (!params.is_object()) return Malformed(kInvalidParams, "params must be an object", id);
  return {.kind = has_id ? Message::Kind::kRequest : Message::Kind::kNotification,
          .id = id,
          .method = json["method"].get<std::string>(),
          .params = std::move(params)};
}

Json ResultOf(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json ErrorOf(const Json& id, int code, absl::string_view message) {
  return {{"jsonrpc", "2.0"},
          {"id", id},
          {"error", {{"code", code}, {"message", std::string(message)}}}};
}

Json Notification(absl::string_view method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", std::string(method)}, {"params", std::move(params)}};
}

std::string ToLine(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cubby::mcp
