#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/base/utf8.h"
#include "cubby/status.h"
#include "cubby/tools/text_limits.h"
#include "cubby/tools/toolbox.h"

namespace cubby::tools {
namespace {

constexpr int64_t kMaxListedEntries = 5000;
// Of a file that is longer, nobody counts the characters.
constexpr int64_t kMaxCountedBytes = 64 << 20;
constexpr int64_t kMaxErrorChars = 2000;  // of what writing says [T-51]

ToolResult Notice(const std::string& text) {
  return {.text = text,
          .structured = {{"error", {{"code", "INVALID_ARGUMENT"}, {"message", text}}}},
          .is_error = true};
}

absl::StatusOr<ToolResult> Ls(const ToolContext& context, const Json& arguments) {
  const auto path = arguments["path"].get<std::string>();
  const auto depth =
      static_cast<int>(std::clamp<int64_t>(arguments["depth"].get<int64_t>(), 1, 20));
  const absl::StatusOr<DirectoryListing> listing =
      context.sandbox->ListDir(path, {.max_depth = depth, .max_results = kMaxListedEntries});
  if (!listing.ok()) return ErrorResult(listing.status(), path);
  std::string text;
  Json entries = Json::array();
  for (const FileInfo& entry : listing->entries) {
    const bool is_directory = entry.type == FileType::kDirectory;
    absl::StrAppend(&text, OneLine(entry.path), is_directory ? "/" : "", "\n");
    entries.push_back({{"path", MendUtf8(entry.path)},
                       {"directory", is_directory},
                       {"size_bytes", entry.size_bytes}});
  }
  if (text.empty()) text = listing->summary.truncated() ? "(nothing could be read)" : "(empty)";
  text = CutEnd(text, CharacterCount(text), context.settings->ls_output_max_chars,
                "Use a more specific path.");
  if (listing->summary.truncated()) {
    absl::StrAppend(&text, "\n... [not everything is listed. Use a more specific path.]");
  }
  return ToolResult{.text = text,
                    .structured = {{"entries", entries},
                                   {"truncated", listing->summary.truncated()},
                                   {"ignored", listing->summary.ignored}}};
}

// What is kept and what is only counted of a file while it comes.
class Reading {
 public:
  explicit Reading(int64_t max_chars)
      // One more than can be shown tells that there is more.
      : max_bytes_(max_chars <= 0 ? kMaxCountedBytes : (max_chars + 1) * 4) {}

  absl::Status Take(absl::string_view piece) {
    bytes_ += static_cast<int64_t>(piece.size());
    characters_ += CharacterCount(piece);
    const int64_t room = max_bytes_ - static_cast<int64_t>(kept_.size());
    kept_.append(piece.data(),
                 std::min(piece.size(), static_cast<size_t>(std::max<int64_t>(room, 0))));
    return bytes_ > kMaxCountedBytes ? absl::OutOfRangeError("enough") : absl::OkStatus();
  }

  // Without a character that is cut at the end of what was kept.
  [[nodiscard]] absl::string_view kept() const {
    absl::string_view text = kept_;
    return static_cast<int64_t>(text.size()) < bytes_
               ? text.substr(0, FloorCharBoundary(text, text.size()))
               : text;
  }
  [[nodiscard]] int64_t characters() const { return bytes_ > kMaxCountedBytes ? -1 : characters_; }

 private:
  const int64_t max_bytes_;
  std::string kept_;
  int64_t bytes_ = 0;
  int64_t characters_ = 0;
};

absl::StatusOr<ToolResult> ReadFile(const ToolContext& context, const Json& arguments) {
  const auto path = arguments["path"].get<std::string>();
  ReadOptions options;
  if (arguments.contains("start_line")) options.start_line = arguments["start_line"].get<int64_t>();
  if (arguments.contains("end_line")) options.end_line = arguments["end_line"].get<int64_t>();
  if (options.start_line.value_or(1) < 1) return Notice("(start_line must be at least 1)");
  if (options.end_line.value_or(1) < 1) return Notice("(end_line must be at least 1)");
  if (options.end_line.has_value() && options.start_line.value_or(1) > *options.end_line) {
    return Notice("(start_line is after end_line)");
  }
  const int64_t limit = context.settings->read_file_output_max_chars;
  Reading reading(limit);
  absl::StatusOr<FileContent> content = context.sandbox->ReadFileTo(
      path, options, [&](absl::string_view piece) { return reading.Take(piece); });
  if (absl::IsOutOfRange(content.status())) content = FileContent{};  // longer than is counted
  if (!content.ok()) return ErrorResult(content.status(), path);
  const absl::string_view text = reading.kept();
  if (FirstInvalidUtf8(text) != text.size() || text.find('\0') != absl::string_view::npos) {
    return ErrorResult(
        absl::InvalidArgumentError(absl::StrCat(
            path,
            " looks like a binary file; read it with bash and a program that knows its "
            "format, or fetch it with download_file")),
        "");
  }
  Json facts = {{"path", path},
                {"lines", content->lines},
                {"end_of_file", content->end_of_file},
                {"file_size_bytes", content->file_size_bytes}};
  if (text.empty()) {
    // An empty line has a line count of 1, and is not "past the end". [D-36]
    const bool past_the_end = options.start_line.value_or(1) > 1 && content->lines == 0;
    facts["text"] = "";
    return ToolResult{.text = past_the_end ? absl::StrCat("(start_line ", *options.start_line,
                                                          " is past the end of the file)")
                                           : "(empty)",
                      .structured = facts};
  }
  const std::string shown =
      CutEnd(text, reading.characters(), limit, "Use start_line and end_line to read the rest.");
  facts["text"] = shown;
  facts["truncated"] = shown.size() != text.size() || shown != text;
  return ToolResult{.text = shown, .structured = facts};
}

ToolResult WriteError(const absl::Status& status, const std::string& path) {
  ToolResult result = ErrorResult(status, path);
  result.text =
      CutMiddle(absl::StrCat("Error: could not write ", path, ": ", result.text), kMaxErrorChars);
  return result;
}

absl::StatusOr<ToolResult> WriteFile(const ToolContext& context, const Json& arguments) {
  const auto path = arguments["path"].get<std::string>();
  const auto& content = arguments["content"].get_ref<const std::string&>();
  const bool append = arguments["append"].get<bool>();
  const int64_t limit = context.settings->write_file_max_bytes;
  if (!append && limit > 0 && static_cast<int64_t>(content.size()) > limit) {
    return WriteError(
        absl::ResourceExhaustedError(absl::StrCat(
            "the content has ", content.size(), " bytes, more than the limit of ", limit,
            "; write the first part and append the others, or edit in place with str_replace")),
        path);
  }
  const absl::StatusOr<std::string> canonical = NormalizePath(path);
  if (!canonical.ok()) return WriteError(canonical.status(), path);
  const FileLocks::Held lock = context.locks->Lock(context.sandbox->id(), *canonical);
  const absl::Status written = context.sandbox->WriteFile(
      *canonical, content, {.write_mode = append ? WriteMode::kAppend : WriteMode::kReplace});
  if (!written.ok()) return WriteError(written, path);
  return ToolResult{.text = "OK", .structured = {{"path", *canonical}, {"bytes", content.size()}}};
}

int64_t CountOf(absl::string_view text, absl::string_view what) {
  int64_t count = 0;
  for (size_t at = text.find(what); at != absl::string_view::npos;
       at = text.find(what, at + what.size())) {
    ++count;
  }
  return count;
}

std::string Replaced(absl::string_view text, absl::string_view from, absl::string_view to) {
  std::string result;
  size_t begin = 0;
  for (size_t at = text.find(from); at != absl::string_view::npos; at = text.find(from, begin)) {
    absl::StrAppend(&result, text.substr(begin, at - begin), to);
    begin = at + from.size();
  }
  absl::StrAppend(&result, text.substr(begin));
  return result;
}

std::string WithCrlf(absl::string_view text) {
  return Replaced(Replaced(text, "\r\n", "\n"), "\n", "\r\n");
}

// Bytes in, bytes out: what is not replaced stays as it was, whatever its encoding. A model writes
// LF; in a file whose lines end in CR LF, that stands for both. [D-33, D-34]
absl::StatusOr<ToolResult> StrReplace(const ToolContext& context, const Json& arguments) {
  const auto path = arguments["path"].get<std::string>();
  auto old_text = arguments["old_str"].get<std::string>();
  auto new_text = arguments["new_str"].get<std::string>();
  const bool all = arguments["replace_all"].get<bool>();
  const absl::StatusOr<std::string> canonical = NormalizePath(path);
  if (!canonical.ok()) return WriteError(canonical.status(), path);
  const FileLocks::Held lock = context.locks->Lock(context.sandbox->id(), *canonical);
  const absl::StatusOr<FileContent> before = context.sandbox->ReadFile(*canonical);
  if (!before.ok()) return ErrorResult(before.status(), path);
  if (old_text.empty()) return ToolResult{.text = "OK", .structured = {{"replaced", 0}}};  // T-52
  int64_t count = CountOf(before->bytes, old_text);
  if (count == 0 && old_text.find('\n') != std::string::npos &&
      before->bytes.find("\r\n") != std::string::npos) {
    old_text = WithCrlf(old_text);
    new_text = WithCrlf(new_text);
    count = CountOf(before->bytes, old_text);
  }
  if (count == 0) {
    return ErrorResult(
        absl::FailedPreconditionError(absl::StrCat("the text to be replaced is not in ", path)),
        "");
  }
  if (count > 1 && !all) {
    return ErrorResult(absl::FailedPreconditionError(absl::StrCat(
                           "the text to be replaced is in ", path, " ", count,
                           " times; give more of what is around it, or set replace_all")),
                       "");
  }
  const std::string after = Replaced(before->bytes, old_text, new_text);
  // Somebody who does not ask for our lock may have written meanwhile.
  const absl::StatusOr<FileContent> now = context.sandbox->ReadFile(*canonical);
  if (!now.ok()) return ErrorResult(now.status(), path);
  if (now->bytes != before->bytes) {
    return ErrorResult(absl::AbortedError(absl::StrCat(
                           path, " was changed by somebody else meanwhile; read it again")),
                       "");
  }
  const absl::Status written = context.sandbox->WriteFile(*canonical, after);
  if (!written.ok()) return WriteError(written, path);
  return ToolResult{.text = "OK", .structured = {{"path", *canonical}, {"replaced", count}}};
}

Parameter PathParameter(std::string help) {
  return {.name = "path", .help = std::move(help), .need = Need::kRequired};
}

}  // namespace

Tool LsTool() {
  return {.name = "ls",
          .title = "List a folder",
          .description =
              "Lists a folder of the sandbox, one path per line, folders with a slash at "
              "the end. Clutter such as .git and node_modules is left out.",
          .parameters = {DescriptionParameter(),
                         {.name = "path",
                          .help = "the folder",
                          .default_value = "/mnt/user-data/workspace"},
                         {.name = "depth",
                          .type = ParameterType::kInteger,
                          .help = "how many levels to go down, at most 20",
                          .default_value = 2}},
          .run = Ls};
}

Tool ReadFileTool() {
  return {.name = "read_file",
          .title = "Read a file",
          .description = "Reads a text file of the sandbox, whole or a range of lines.",
          .parameters = {DescriptionParameter(),
                         PathParameter("the file"),
                         {.name = "start_line",
                          .type = ParameterType::kInteger,
                          .help = "the first line, from 1"},
                         {.name = "end_line",
                          .type = ParameterType::kInteger,
                          .help = "the last line, included"}},
          .run = ReadFile};
}

Tool WriteFileTool() {
  return {.name = "write_file",
          .title = "Write a file",
          .description =
              "Writes a text file of the sandbox: replaces it, or appends to it. Folders "
              "on the way are made.",
          .parameters = {DescriptionParameter(),
                         PathParameter("the file"),
                         {.name = "content", .help = "the text", .need = Need::kRequired},
                         {.name = "append",
                          .type = ParameterType::kBoolean,
                          .help = "add to the end in place of replacing",
                          .default_value = false}},
          .effect = Tool::Effect::kChanges,
          .run = WriteFile};
}

Tool StrReplaceTool() {
  return {.name = "str_replace",
          .title = "Replace text in a file",
          .description =
              "Replaces a piece of a file. The old text must be there exactly once, unless "
              "replace_all is set; everything else stays byte for byte.",
          .parameters = {DescriptionParameter(),
                         PathParameter("the file"),
                         {.name = "old_str",
                          .help = "what is there now, exactly",
                          .need = Need::kRequired},
                         {.name = "new_str", .help = "what comes there", .need = Need::kRequired},
                         {.name = "replace_all",
                          .type = ParameterType::kBoolean,
                          .help = "every occurrence",
                          .default_value = false}},
          .effect = Tool::Effect::kChanges,
          .run = StrReplace};
}

}  // namespace cubby::tools
