#include "cubby/tools/tool.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cubby/base/utf8.h"

namespace cubby::tools {
namespace {

const char* TypeName(ParameterType type) {
  switch (type) {
    case ParameterType::kString:
      return "string";
    case ParameterType::kInteger:
      return "integer";
    case ParameterType::kBoolean:
      return "boolean";
  }
  return "string";
}

bool HasType(const Json& value, ParameterType type) {
  switch (type) {
    case ParameterType::kString:
      return value.is_string();
    case ParameterType::kInteger:
      return value.is_number_integer();
    case ParameterType::kBoolean:
      return value.is_boolean();
  }
  return false;
}

const Parameter* Find(const Tool& tool, const std::string& name) {
  for (const Parameter& parameter : tool.parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

// The sentence for what went wrong with a path, or empty. [T-4]
std::string Sentence(const absl::Status& status, absl::string_view path) {
  if (path.empty()) return "";
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return absl::StrCat("File or directory not found: ", path);
    case absl::StatusCode::kPermissionDenied:
      return absl::StrCat("Permission denied: ", path);
    default:
      return "";
  }
}

}  // namespace

Json InputSchema(const Tool& tool) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Parameter& parameter : tool.parameters) {
    Json property = {{"type", TypeName(parameter.type)}, {"description", parameter.help}};
    if (!parameter.default_value.is_null()) property["default"] = parameter.default_value;
    properties[parameter.name] = property;
    if (parameter.need == Need::kRequired) required.push_back(parameter.name);
  }
  return {{"type", "object"},
          {"properties", properties},
          {"required", required},
          {"additionalProperties", false}};
}

absl::StatusOr<Json> CheckArguments(const Tool& tool, const Json& arguments) {
  if (!arguments.is_object()) return absl::InvalidArgumentError("arguments must be an object");
  std::vector<std::string> wrong;
  Json checked = Json::object();
  for (const auto& [name, value] : arguments.items()) {
    const Parameter* parameter = Find(tool, name);
    if (parameter == nullptr) {
      wrong.push_back(absl::StrCat("there is no ", name));
    } else if (value.is_null() && parameter->need == Need::kOptional) {
      continue;  // as if it were not given
    } else if (!HasType(value, parameter->type)) {
      wrong.push_back(absl::StrCat(name, " must be a",
                                   parameter->type == ParameterType::kInteger ? "n " : " ",
                                   TypeName(parameter->type)));
    } else {
      checked[name] = value;
    }
  }
  for (const Parameter& parameter : tool.parameters) {
    if (checked.contains(parameter.name)) continue;
    if (!parameter.default_value.is_null()) {
      checked[parameter.name] = parameter.default_value;
    } else if (parameter.need == Need::kRequired && !arguments.contains(parameter.name)) {
      wrong.push_back(absl::StrCat(parameter.name, " is needed"));
    }
  }
  if (!wrong.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(tool.name, ": ", absl::StrJoin(wrong, "; ")));
  }
  return checked;
}

ToolResult ErrorResult(const absl::Status& status, absl::string_view path) {
  const std::string sentence = Sentence(status, path);
  const std::string message =
      MendUtf8(sentence.empty() ? absl::string_view(status.message()) : sentence);
  return {
      .text = absl::StrCat("Error: ", message),
      .structured = {{"error",
                      {{"code", absl::StatusCodeToString(status.code())}, {"message", message}}}},
      .is_error = true};
}

}  // namespace cubby::tools
