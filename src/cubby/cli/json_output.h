// The shapes that several verbs print as JSON.
//
// Only verbs' .cc files include this: nlohmann's header is slow to compile.
#ifndef CUBBY_CLI_JSON_OUTPUT_H_
#define CUBBY_CLI_JSON_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cubby/cli/context.h"
#include "cubby/provider.h"
#include "nlohmann/json.hpp"

namespace cubby::cli {

using Json = nlohmann::ordered_json;

// `object[key]`, or `object[key_base64]` when the bytes are not UTF-8.
void PutBytes(Json* object, const std::string& key, absl::string_view bytes);

// {"error": {"code", "message", "path", "errno", "fate"}}
Json ErrorJson(const absl::Status& status);
Json StagesJson(const std::vector<Stage>& stages);  // [{"name", "milliseconds"}]
Json LimitsJson(const Limits& limits);

// exit_code, signal, timed_out, ..., stdout and stderr with totals; `out` and `err` as collected.
Json ExecResultJson(const ExecResult& result);

// One line on standard output.
absl::Status PrintJson(const Context& context, const Json& value);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_JSON_OUTPUT_H_
