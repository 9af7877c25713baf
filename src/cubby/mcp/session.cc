#include "cubby/mcp/session.h"

#include <limits.h>
#include <stdlib.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cubby/base/deadline.h"
#include "cubby/base/ids.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/base/utf8.h"
#include "cubby/mcp/resources.h"
#include "cubby/status.h"
#include "cubby/tools/text_limits.h"

namespace cubby::mcp {
namespace {

using tools::Need;
using tools::Parameter;
using tools::ParameterType;
using tools::Tool;
using tools::ToolResult;

constexpr size_t kMaxSandboxes = 16;
constexpr int64_t kMaxShownBytes = 8 << 20;  // of a file that travels inside a message
constexpr int64_t kMaxResources = 1000;
// A command that has been asked for is known to its agent within this time, or will not start.
constexpr absl::Duration kStartTime = absl::Seconds(2);

constexpr char kNoSandbox[] = "this session has no such sandbox";

Parameter WhichSandbox() {
  return {.name = "sandbox", .help = "the id of the sandbox; the session's own if not given"};
}

Json ToJson(const ToolResult& result) {
  return {{"content", {{{"type", "text"}, {"text", result.text}}}},
          {"structuredContent", result.structured},
          {"isError", result.is_error}};
}

ToolResult Failed(const absl::Status& status) { return tools::ErrorResult(status, ""); }

std::string Get(const Json& arguments, const char* name) {
  return arguments.contains(name) ? arguments[name].get<std::string>() : std::string();
}

// Ends an execution which may not have begun yet.
void KillExecution(Sandbox& sandbox, const std::string& id) {
  const Deadline deadline = Deadline::After(kStartTime);
  while (!deadline.Expired()) {
    const absl::StatusOr<std::unique_ptr<Execution>> execution = sandbox.Attach(id);
    if (execution.ok()) {
      (*execution)->Kill().IgnoreError();  // it has ended, or its machine has
      return;
    }
    if (!absl::IsNotFound(execution.status())) return;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Open(SessionOptions options) {
  std::unique_ptr<Session> session(new Session(std::move(options)));
  for (const std::string& folder : session->options_.shared_folders) {
    const std::unique_ptr<char, decltype(&free)> real(realpath(folder.c_str(), nullptr), &free);
    if (real == nullptr) return ErrnoError(errno, "find", folder);
    CUBBY_ASSIGN_OR_RETURN(HostTree tree, HostTree::Open(real.get()));
    session->shared_.push_back({.path = real.get(), .tree = std::move(tree)});
  }
  if (!session->options_.sandbox_id.empty()) {
    CUBBY_ASSIGN_OR_RETURN(std::shared_ptr<Sandbox> sandbox,
                           session->options_.provider->Get(session->options_.sandbox_id));
    session->own_ = sandbox->id();
    session->sandboxes_[sandbox->id()] = std::move(sandbox);
  }
  session->DeclareTools();
  return session;
}

Session::~Session() { Close().IgnoreError(); }

absl::Status Session::Close() {
  std::map<std::string, std::shared_ptr<Sandbox>> sandboxes;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    sandboxes.swap(sandboxes_);
    own_.clear();
  }
  absl::Status first;
  for (auto& [id, sandbox] : sandboxes) {
    sandbox.reset();
    if (id == options_.sandbox_id) continue;
    const absl::Status removed = options_.provider->Remove(id);
    if (!removed.ok() && !absl::IsNotFound(removed)) first.Update(removed);
  }
  return first;
}

std::string Session::Instructions() const {
  std::string text =
      "Tools to work in an isolated Linux sandbox without network. The working directory is "
      "/mnt/user-data/workspace; put results that are to be handed over into "
      "/mnt/user-data/outputs. ";
  absl::StrAppend(&text, options_.sandbox_id.empty()
                             ? "The sandbox is made at the first use and removed at the end of the "
                               "session."
                             : "The sandbox stays after the session.");
  return text;
}

void Session::DeclareTools() {
  tools_ = tools::AllTools();
  for (Tool& tool : tools_) tool.parameters.push_back(WhichSandbox());
  tools_.push_back({.name = "sandbox_create",
                    .title = "Make another sandbox",
                    .description =
                        "Makes one more sandbox and returns its id, for work that must be "
                        "kept apart. The session's own needs no making.",
                    .parameters = {tools::DescriptionParameter(),
                                   {.name = "image",
                                    .help = "an OCI image reference; the server's default if not "
                                            "given"}},
                    .effect = Tool::Effect::kChanges});
  tools_.push_back({.name = "sandbox_list",
                    .title = "List sandboxes",
                    .description = "Lists the sandboxes of this session.",
                    .parameters = {tools::DescriptionParameter()}});
  tools_.push_back({.name = "sandbox_destroy",
                    .title = "Remove a sandbox",
                    .description = "Stops everything in a sandbox and removes it with its files.",
                    .parameters = {tools::DescriptionParameter(),
                                   {.name = "sandbox",
                                    .help = "the id of the sandbox",
                                    .need = Need::kRequired}},
                    .effect = Tool::Effect::kChanges});
  const std::string shared =
      shared_.empty() ? std::string("; this server shares no folder of its host")
                      : absl::StrCat(" below ", absl::StrJoin(options_.shared_folders, " or "));
  tools_.push_back(
      {.name = "upload_file",
       .title = "Put a file into a sandbox",
       .description =
           "Writes a file of the sandbox from content_base64 or from a file of the host.",
       .parameters = {tools::DescriptionParameter(),
                      {.name = "path", .help = "the file in the sandbox", .need = Need::kRequired},
                      {.name = "content_base64", .help = "its content"},
                      {.name = "host_path", .help = absl::StrCat("a file of the host", shared)},
                      WhichSandbox()},
       .effect = Tool::Effect::kChanges});
  tools_.push_back(
      {.name = "download_file",
       .title = "Get a file from a sandbox",
       .description =
           "Returns a file from below /mnt/user-data (an image as an image), or saves it "
           "on the host.",
       .parameters = {
           tools::DescriptionParameter(),
           {.name = "path", .help = "the file in the sandbox", .need = Need::kRequired},
           {.name = "host_path", .help = absl::StrCat("where to save it on the host", shared)},
           WhichSandbox()}});
}

Json Session::Tools() const {
  Json list = Json::array();
  for (const Tool& tool : tools_) {
    const bool changes = tool.effect == Tool::Effect::kChanges;
    list.push_back({{"name", tool.name},
                    {"title", tool.title},
                    {"description", tool.description},
                    {"inputSchema", tools::InputSchema(tool)},
                    {"annotations",
                     {{"title", tool.title},
                      {"readOnlyHint", !changes},
                      {"destructiveHint", changes},
                      {"openWorldHint", false}}}});
  }
  return list;
}

absl::StatusOr<Json> Session::CallTool(const std::string& name, const Json& arguments, Call* call) {
  const auto tool = std::find_if(tools_.begin(), tools_.end(),
                                 [&](const Tool& each) { return each.name == name; });
  if (tool == tools_.end()) return absl::NotFoundError(absl::StrCat("there is no tool ", name));
  CUBBY_ASSIGN_OR_RETURN(const Json checked, tools::CheckArguments(*tool, arguments));
  if (name == "download_file") {
    absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = Find(Get(checked, "sandbox"));
    if (!sandbox.ok()) return ToJson(Failed(sandbox.status()));
    absl::StatusOr<Json> result = Download(**sandbox, checked);
    return result.ok() ? *std::move(result)
                       : ToJson(tools::ErrorResult(result.status(), Get(checked, "path")));
  }
  CUBBY_ASSIGN_OR_RETURN(const ToolResult result, RunTool(*tool, checked, call));
  return ToJson(result);
}

absl::StatusOr<ToolResult> Session::RunTool(const Tool& tool, const Json& arguments, Call* call) {
  if (tool.name == "sandbox_create") return CreateSandbox(arguments);
  if (tool.name == "sandbox_list") return ListSandboxes();
  if (tool.name == "sandbox_destroy") return DestroySandbox(arguments);
  const absl::StatusOr<std::shared_ptr<Sandbox>> found = Find(Get(arguments, "sandbox"));
  if (!found.ok()) return Failed(found.status());
  Sandbox& sandbox = **found;
  absl::StatusOr<ToolResult> result;
  if (tool.name == "upload_file") {
    result = Upload(sandbox, arguments);
  } else {
    const std::string execution = RandomHex(16);
    if (tool.name == "bash") {
      call->OnCancel([sandbox = *found, execution] { KillExecution(*sandbox, execution); });
    }
    Json own = arguments;
    own.erase("sandbox");
    if (!call->cancelled()) {
      result = tools::CallTool(tool.name,
                               {.sandbox = &sandbox,
                                .settings = &options_.settings,
                                .locks = &locks_,
                                .execution_id = execution},
                               own);
    }
    call->OnCancel(nullptr);
  }
  if (result.ok() && result->is_error && DropDead(sandbox)) {
    result->text += " The sandbox has died, with its files; the next call gets a new one.";
  }
  return result;
}

absl::StatusOr<std::shared_ptr<Sandbox>> Session::Find(const std::string& id) {
  // So that callers which come together make one.
  std::lock_guard<std::mutex> making(making_);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = sandboxes_.find(id.empty() ? own_ : id);
    if (found != sandboxes_.end()) return found->second;
  }
  if (!id.empty()) return absl::NotFoundError(absl::StrCat(kNoSandbox, ": ", id));
  CUBBY_ASSIGN_OR_RETURN(std::shared_ptr<Sandbox> sandbox, Make(""));
  std::lock_guard<std::mutex> lock(mutex_);
  own_ = sandbox->id();
  return sandbox;
}

absl::StatusOr<std::shared_ptr<Sandbox>> Session::Make(const std::string& image) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (sandboxes_.size() >= kMaxSandboxes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("this session has ", kMaxSandboxes, " sandboxes; remove one first"));
    }
  }
  SandboxSpec spec = options_.spec;
  if (!image.empty()) spec.image = image;
  if (options_.ensure_image) CUBBY_RETURN_IF_ERROR(options_.ensure_image(spec.image));
  CUBBY_ASSIGN_OR_RETURN(Created created, options_.provider->Create(spec));
  std::lock_guard<std::mutex> lock(mutex_);
  sandboxes_[created.sandbox->id()] = created.sandbox;
  return std::move(created.sandbox);
}

bool Session::DropDead(Sandbox& sandbox) {
  if (!IsTerminal(sandbox.Ping())) return false;
  const std::string id = sandbox.id();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (sandboxes_.erase(id) == 0) return true;  // another call has
    if (own_ == id) own_.clear();
  }
  // What is left of it is not the caller's; `cubby rm` finds it when this fails.
  if (id != options_.sandbox_id) options_.provider->Remove(id).IgnoreError();
  return true;
}

absl::StatusOr<ToolResult> Session::CreateSandbox(const Json& arguments) {
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = Make(Get(arguments, "image"));
  if (!sandbox.ok()) return Failed(sandbox.status());
  return ToolResult{.text = (*sandbox)->id(), .structured = {{"sandbox", (*sandbox)->id()}}};
}

ToolResult Session::ListSandboxes() {
  std::lock_guard<std::mutex> lock(mutex_);
  ToolResult result{.structured = {{"sandboxes", Json::array()}}};
  for (const auto& [id, sandbox] : sandboxes_) {
    absl::StrAppend(&result.text, id, id == own_ ? " (the session's own)" : "", "\n");
    result.structured["sandboxes"].push_back({{"sandbox", id}, {"own", id == own_}});
  }
  if (result.text.empty()) result.text = "(none yet; the first call makes one)";
  return result;
}

absl::StatusOr<ToolResult> Session::DestroySandbox(const Json& arguments) {
  const std::string id = Get(arguments, "sandbox");
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (sandboxes_.find(id) == sandboxes_.end()) {
      return Failed(absl::NotFoundError(absl::StrCat(kNoSandbox, ": ", id)));
    }
    if (id == options_.sandbox_id) {
      return Failed(absl::PermissionDeniedError("the sandbox is not the session's to remove"));
    }
  }
  const absl::Status removed = options_.provider->Remove(id);
  if (!removed.ok() && !absl::IsNotFound(removed)) return Failed(removed);
  std::lock_guard<std::mutex> lock(mutex_);
  sandboxes_.erase(id);
  if (own_ == id) own_.clear();
  return ToolResult{.text = "OK", .structured = {{"sandbox", id}}};
}

absl::StatusOr<Session::HostFile> Session::FindShared(const std::string& path) const {
  for (const SharedFolder& folder : shared_) {
    if (path.empty() || path[0] != '/') return HostFile{&folder.tree, path};
    CUBBY_ASSIGN_OR_RETURN(const std::string normal, NormalizePath(path, "/"));
    if (IsWithin(normal, folder.path) && normal != folder.path) {
      return HostFile{&folder.tree, normal.substr(folder.path.size() + 1)};
    }
  }
  return absl::PermissionDeniedError(
      shared_.empty() ? std::string("this server shares no folder of its host (--share)")
                      : absl::StrCat(path, " is in no folder that this server shares"));
}

absl::StatusOr<ToolResult> Session::Upload(Sandbox& sandbox, const Json& arguments) {
  const std::string path = Get(arguments, "path");
  if (arguments.contains("content_base64") == arguments.contains("host_path")) {
    return absl::InvalidArgumentError("upload_file needs either content_base64 or host_path");
  }
  int64_t bytes = 0;
  if (arguments.contains("content_base64")) {
    std::string content;
    if (!absl::Base64Unescape(Get(arguments, "content_base64"), &content)) {
      return absl::InvalidArgumentError("content_base64 is not base64");
    }
    bytes = static_cast<int64_t>(content.size());
    const absl::Status written = sandbox.WriteFile(path, content);
    if (!written.ok()) return tools::ErrorResult(written, path);
  } else {
    const absl::StatusOr<HostFile> file = FindShared(Get(arguments, "host_path"));
    if (!file.ok()) return Failed(file.status());
    const absl::StatusOr<unique_fd> source = file->tree->OpenToRead(file->path);
    if (!source.ok()) return Failed(source.status());
    const absl::Status written =
        sandbox.WriteFileFrom(path, [&](char* buffer, size_t size) -> absl::StatusOr<size_t> {
          const ssize_t got = read(source->get(), buffer, size);
          if (got < 0) return ErrnoError(errno, "read", file->path);
          bytes += got;
          return static_cast<size_t>(got);
        });
    if (!written.ok()) return tools::ErrorResult(written, path);
  }
  return ToolResult{.text = absl::StrCat("OK, ", bytes, " bytes"),
                    .structured = {{"path", path}, {"bytes", bytes}}};
}

absl::StatusOr<Json> Session::Download(Sandbox& sandbox, const Json& arguments) {
  const std::string path = Get(arguments, "path");
  if (!arguments.contains("host_path")) {
    CUBBY_ASSIGN_OR_RETURN(const std::string bytes,
                           sandbox.DownloadFile(path, {.limit_bytes = kMaxShownBytes}));
    CUBBY_ASSIGN_OR_RETURN(const std::string normal, NormalizePath(path));
    return Json{{"content", {ContentOf(UriOf(sandbox.id(), normal), normal, bytes)}},
                {"structuredContent", {{"path", normal}, {"bytes", bytes.size()}}},
                {"isError", false}};
  }
  CUBBY_ASSIGN_OR_RETURN(const HostFile file, FindShared(Get(arguments, "host_path")));
  int64_t bytes = 0;
  CUBBY_RETURN_IF_ERROR(
      file.tree->WriteFile(file.path, 0644, [&](const ByteSink& write) -> absl::Status {
        CUBBY_ASSIGN_OR_RETURN(bytes, sandbox.DownloadFileTo(path, {}, write));
        return absl::OkStatus();
      }));
  return ToJson({.text = absl::StrCat("OK, ", bytes, " bytes"),
                 .structured = {{"path", path}, {"bytes", bytes}}});
}

absl::StatusOr<Json> Session::Resources() {
  std::map<std::string, std::shared_ptr<Sandbox>> sandboxes;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    sandboxes = sandboxes_;
  }
  Json resources = Json::array();
  for (const auto& [id, sandbox] : sandboxes) {
    const absl::StatusOr<DirectoryListing> listing =
        sandbox->ListDir(kOutputs, {.max_depth = 20, .max_results = kMaxResources});
    // One that has died has nothing to show; the next call on it says so.
    if (!listing.ok()) continue;
    for (const FileInfo& entry : listing->entries) {
      if (entry.type != FileType::kFile) continue;
      resources.push_back({{"uri", UriOf(id, entry.path)},
                           {"name", tools::OneLine(entry.path.substr(sizeof(kOutputs)))},
                           {"mimeType", MimeTypeOf(entry.path)},
                           {"size", entry.size_bytes}});
    }
  }
  return Json{{"resources", resources}};
}

Json Session::ResourceTemplates() const {
  return {{{"uriTemplate", absl::StrCat("cubby://{sandbox}", kOutputs, "/{+path}")},
           {"name", "outputs"},
           {"description", "Files that a sandbox has left in its outputs folder"}}};
}

absl::StatusOr<Json> Session::ReadResource(const std::string& uri) {
  const std::optional<ResourceName> name = ParseUri(uri);
  std::shared_ptr<Sandbox> sandbox;
  if (name.has_value()) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = sandboxes_.find(name->sandbox_id);
    if (found != sandboxes_.end()) sandbox = found->second;
  }
  if (sandbox == nullptr) return absl::NotFoundError(absl::StrCat("no such resource: ", uri));
  CUBBY_ASSIGN_OR_RETURN(const std::string path, NormalizePath(name->path, "/"));
  if (!IsWithin(path, kOutputs)) {
    return absl::NotFoundError(absl::StrCat("no such resource: ", uri));
  }
  CUBBY_ASSIGN_OR_RETURN(const std::string bytes,
                         sandbox->DownloadFile(path, {.limit_bytes = kMaxShownBytes}));
  return Json{{"contents", {ResourceContents(uri, path, bytes)}}};
}

}  // namespace cubby::mcp
