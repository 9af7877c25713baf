// tools/: what an AI agent calls: bash, ls, read_file, write_file, str_replace, glob, grep.
//
// A tool is declared once: its name, what a model is told, its parameters. The JSON schema, the
// check of arguments and the defaults come from that. It asks a Sandbox for facts, and words them:
// limits, truncation, redaction and the sentences that a model reads are decided here and nowhere
// else. May use sandbox/ and what is below it; it must not know where a sandbox comes from or who
// asks (mcp/, gateway/). Open first: toolbox.h.
#ifndef CUBBY_TOOLS_TOOL_H_
#define CUBBY_TOOLS_TOOL_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cubby/sandbox.h"
#include "cubby/tools/file_locks.h"
#include "nlohmann/json.hpp"

namespace cubby::tools {

using Json = nlohmann::json;

enum class ParameterType { kString, kInteger, kBoolean };
enum class Need { kRequired, kOptional };

struct Parameter {
  std::string name;
  ParameterType type = ParameterType::kString;
  std::string help;
  Need need = Need::kOptional;
  Json default_value;  // null: none
};

// What one call of a tool gives. Both say the same; `text` is what a model reads.
struct ToolResult {
  std::string text;
  Json structured = Json::object();
  bool is_error = false;
};

// Where the defaults of limits come from; 0 switches a limit on characters off. [T-14, T-30, T-50]
struct ToolSettings {
  int64_t bash_output_max_chars = 20000;
  int64_t read_file_output_max_chars = 50000;
  int64_t ls_output_max_chars = 20000;
  int64_t write_file_max_bytes = 80 << 10;  // of one that replaces; 0: any size
  int64_t glob_max_results = 1000;
  int64_t grep_max_results = 500;
  absl::Duration command_timeout = absl::Seconds(600);
  std::string working_directory;  // of commands; empty: the sandbox's workspace
};

// Everything that one call needs beside its arguments.
struct ToolContext {
  Sandbox* sandbox = nullptr;
  const ToolSettings* settings = nullptr;
  FileLocks* locks = nullptr;
  // Environment of commands whose values must not be shown. [T-10, E-6]
  std::map<std::string, std::string> secrets;
  // The name of a command's execution, so that who called can end it; empty: a random one.
  std::string execution_id;
};

struct Tool {
  std::string name;
  std::string title;
  std::string description;
  std::vector<Parameter> parameters;
  enum class Effect { kReads, kChanges } effect = Effect::kReads;
  // `arguments` have been checked and hold the defaults. A failure of the sandbox becomes the text
  // of an error.
  std::function<absl::StatusOr<ToolResult>(const ToolContext& context, const Json& arguments)> run;
};

// JSON Schema (2020-12) of the arguments.
Json InputSchema(const Tool& tool);

// The arguments with defaults. INVALID_ARGUMENT names every one that is missing, unknown or of a
// wrong type.
absl::StatusOr<Json> CheckArguments(const Tool& tool, const Json& arguments);

// What a model is told of a failure; `path` is what it asked for, or empty. [T-4]
ToolResult ErrorResult(const absl::Status& status, absl::string_view path);

}  // namespace cubby::tools

#endif  // CUBBY_TOOLS_TOOL_H_
