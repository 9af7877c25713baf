#include <limits>
#include <memory>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

struct Options {
  std::string id;
  std::string path;
  std::string lines;
};

// "A:B", "A:", ":B" or "A" alone, which is one line.
absl::Status ParseLines(const std::string& text, ReadOptions* read) {
  const absl::Status bad = absl::InvalidArgumentError(
      absl::StrCat("--lines ", text, ": write it as FIRST:LAST, counted from 1, as in 10:20"));
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  if (parts.size() > 2 || (parts[0].empty() && parts.back().empty())) return bad;
  const auto parse = [&](const std::string& part, std::optional<int64_t>* line) {
    int64_t number = 0;
    if (part.empty()) return true;
    if (!absl::SimpleAtoi(part, &number) || number < 1) return false;
    *line = number;
    return true;
  };
  if (!parse(parts[0], &read->start_line) || !parse(parts.back(), &read->end_line)) return bad;
  if (read->start_line.value_or(1) > read->end_line.value_or(std::numeric_limits<int64_t>::max())) {
    return bad;
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Read(Context& context, const Options& options) {
  ReadOptions read;
  if (!options.lines.empty()) CUBBY_RETURN_IF_ERROR(ParseLines(options.lines, &read));
  CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, context.FindSandbox(options.id));
  if (context.global.json) {
    CUBBY_ASSIGN_OR_RETURN(const FileContent content, sandbox->ReadFile(options.path, read));
    Json object;
    PutBytes(&object, "path", options.path);
    PutBytes(&object, "content", content.bytes);
    object["lines"] = content.lines;
    object["end_of_file"] = content.end_of_file;
    object["file_size_bytes"] = content.file_size_bytes;
    CUBBY_RETURN_IF_ERROR(PrintJson(context, object));
    return 0;
  }
  read.limit_bytes = std::numeric_limits<int64_t>::max();
  CUBBY_RETURN_IF_ERROR(
      sandbox
          ->ReadFileTo(options.path, read,
                       [&context](absl::string_view bytes) { return context.Print(bytes); })
          .status());
  return 0;
}

}  // namespace

Verb ReadVerb() {
  auto options = std::make_shared<Options>();
  return {.name = "read",
          .summary = "Print a file of a sandbox",
          .options = {Text("--lines", "FIRST:LAST", &options->lines,
                           "only these lines, counted from 1, both included; either may be left "
                           "out")},
          .positionals = {Word("ID", &options->id, Completes::kSandbox,
                               "the sandbox, or the beginning of its id"),
                          Word("PATH", &options->path, Completes::kNothing, "the file")},
          .run = [options](Context& context) { return Read(context, *options); }};
}

}  // namespace cubby::cli
