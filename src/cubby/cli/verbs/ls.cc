#include <memory>

#include "absl/strings/str_cat.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/context.h"
#include "cubby/cli/copy.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/output.h"
#include "cubby/cli/search_output.h"
#include "cubby/cli/units.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

struct Options {
  std::string id;
  std::string path = kWorkspace;
  int64_t depth = 1;
  int64_t limit = 10000;
  bool everything = false;
  bool details = false;
  bool nul = false;
};

Json ToJson(const FileInfo& entry) {
  Json object;
  PutBytes(&object, "path", entry.path);
  object["type"] = FileTypeName(entry.type);
  object["size_bytes"] = entry.size_bytes;
  object["mode"] = FormatMode(entry.mode);
  object["uid"] = entry.uid;
  object["gid"] = entry.gid;
  object["modified"] = absl::ToDoubleSeconds(entry.modified - absl::UnixEpoch());
  if (entry.type == FileType::kSymlink) PutBytes(&object, "link_target", entry.link_target);
  return object;
}

std::string Line(const Context& context, const FileInfo& entry) {
  std::string text = ForPeople(context.out(), entry.path);
  if (entry.type == FileType::kDirectory) text += "/";
  return text;
}

std::string Details(const Context& context, const std::vector<FileInfo>& entries) {
  Table table({"TYPE", "MODE", "OWNER", "SIZE", "MODIFIED", "PATH"});
  for (const FileInfo& entry : entries) {
    std::string path = Line(context, entry);
    if (entry.type == FileType::kSymlink) {
      absl::StrAppend(&path, " -> ", ForPeople(context.out(), entry.link_target));
    }
    table.Add({FileTypeName(entry.type), FormatMode(entry.mode),
               absl::StrCat(entry.uid, ":", entry.gid), absl::StrCat(entry.size_bytes),
               IsoTime(entry.modified), path});
  }
  return table.ToString();
}

absl::StatusOr<int> List(Context& context, const Options& options) {
  CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, context.FindSandbox(options.id));
  CUBBY_ASSIGN_OR_RETURN(
      const DirectoryListing listing,
      sandbox->ListDir(options.path, {.max_depth = static_cast<int>(options.depth),
                                      .max_results = options.limit,
                                      .ignore = {.defaults = !options.everything}}));
  if (context.global.json) {
    Json entries = Json::array();
    for (const FileInfo& entry : listing.entries) entries.push_back(ToJson(entry));
    CUBBY_RETURN_IF_ERROR(PrintJson(context, WithSummary({{"entries", entries}}, listing.summary)));
    return 0;
  }
  std::string text;
  if (options.details) {
    text = Details(context, listing.entries);
  } else {
    for (const FileInfo& entry : listing.entries) {
      text += options.nul ? entry.path : Line(context, entry);
      text += options.nul ? '\0' : '\n';
    }
  }
  CUBBY_RETURN_IF_ERROR(context.Print(text));
  SaySummary(context, listing.summary, "--limit");
  return 0;
}

}  // namespace

Verb LsVerb() {
  auto options = std::make_shared<Options>();
  return {.name = "ls",
          .summary = "List a folder of a sandbox",
          .description =
              "One path per line, folders with a slash at the end. On a terminal, bytes that "
              "cannot be shown are escaped; elsewhere they are printed as they are.",
          .options = {Integer("--depth", "N", &options->depth, 1, "how many levels to go down"),
                      Integer("--limit", "N", &options->limit, 1, "at most so many entries"),
                      Flag("--no-ignore", &options->everything,
                           "show common clutter too, such as .git and node_modules"),
                      Flag("-l,--long", &options->details,
                           "type, mode, owner, size and time of each entry"),
                      Flag("-0,--null", &options->nul,
                           "end each path with a NUL byte in place of a newline")},
          .positionals = {Word("ID", &options->id, Completes::kSandbox,
                               "the sandbox, or the beginning of its id"),
                          Word("PATH", &options->path, Completes::kNothing,
                               "the folder; the workspace if not given", Need::kOptional)},
          .run = [options](Context& context) { return List(context, *options); }};
}

}  // namespace cubby::cli
