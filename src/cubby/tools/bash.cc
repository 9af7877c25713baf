#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cubby/base/utf8.h"
#include "cubby/tools/exec_text.h"
#include "cubby/tools/redaction.h"
#include "cubby/tools/text_limits.h"
#include "cubby/tools/toolbox.h"

namespace cubby::tools {
namespace {

constexpr size_t kMaxCommandBytes = 1 << 20;

// As a model may see it: redacted before it is cut, so that no part of a secret is left.
std::string Shown(const ToolContext& context, std::string text) {
  return CutMiddle(Redact(std::move(text), context.secrets),
                   context.settings->bash_output_max_chars);
}

Json StreamFacts(const ToolContext& context, const OutputStream& stream) {
  return {{"text", Shown(context, MendUtf8(stream.bytes))},
          {"total_bytes", stream.total_bytes},
          {"truncated", stream.truncated}};
}

absl::StatusOr<ToolResult> Bash(const ToolContext& context, const Json& arguments) {
  const std::string command = arguments["command"].get<std::string>();
  if (command.empty() || command.size() > kMaxCommandBytes ||
      command.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(
        "the command must not be empty, hold a NUL byte or be longer than 1 MiB");
  }
  absl::Duration timeout = context.settings->command_timeout;
  if (arguments.contains("timeout_seconds")) {
    const auto wanted = arguments["timeout_seconds"].get<int64_t>();
    if (wanted <= 0) return absl::InvalidArgumentError("timeout_seconds must be positive");
    timeout = std::min(timeout, absl::Seconds(wanted));
  }
  const absl::StatusOr<ExecResult> result = context.sandbox->Execute(
      Command::Shell(command), {.environment = context.secrets,
                                .working_directory = context.settings->working_directory,
                                .timeout = timeout,
                                .execution_id = context.execution_id});
  if (!result.ok()) return ErrorResult(result.status(), "");
  return ToolResult{.text = Shown(context, ExecText(*result, timeout)),
                    .structured = {{"exit_code", result->exit_code},
                                   {"signal", result->signal},
                                   {"timed_out", result->timed_out},
                                   {"out_of_memory", result->out_of_memory},
                                   {"stdout", StreamFacts(context, result->out)},
                                   {"stderr", StreamFacts(context, result->err)},
                                   {"milliseconds", absl::ToInt64Milliseconds(result->wall_time)}}};
}

}  // namespace

Tool BashTool() {
  return {
      .name = "bash",
      .title = "Run a command",
      .description =
          "Runs a shell script in the sandbox, in /mnt/user-data/workspace, and returns what it "
          "printed and how it ended. Each call is a shell of its own: directory and variables "
          "do not carry over. Nothing can be typed into it. There is no network. When the "
          "time-out passes, everything that the command started is killed.",
      .parameters = {DescriptionParameter(),
                     {.name = "command", .help = "the shell script", .need = Need::kRequired},
                     {.name = "timeout_seconds",
                      .type = ParameterType::kInteger,
                      .help = "how long it may take; not above the server's own limit"}},
      .effect = Tool::Effect::kChanges,
      .run = Bash};
}

}  // namespace cubby::tools
