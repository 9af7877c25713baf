#include "cubby/cli/testing/fake_provider.h"

#include <signal.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"

namespace cubby::cli::testing {
namespace {

absl::Status Missing(absl::string_view what) {
  return MakeError(absl::StatusCode::kNotFound, absl::StrCat("there is no ", what),
                   {.error_number = ENOENT, .path = std::string(what)});
}

}  // namespace

absl::StatusOr<ExecResult> FakeExecution::Wait(const Sink& sink) {
  absl::StatusOr<ExecResult> result =
      body_ == nullptr ? absl::StatusOr<ExecResult>(ExecResult{}) : body_(*this, sink);
  if (result.ok()) result->execution_id = id_;
  return result;
}

absl::Status FakeExecution::WriteStdin(absl::string_view bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  absl::StrAppend(&input_, bytes);
  changed_.notify_all();
  return absl::OkStatus();
}

absl::Status FakeExecution::CloseStdin() {
  const std::lock_guard<std::mutex> lock(mutex_);
  input_closed_ = true;
  changed_.notify_all();
  return absl::OkStatus();
}

absl::Status FakeExecution::Signal(int signal) {
  const std::lock_guard<std::mutex> lock(mutex_);
  signals_.push_back(signal);
  changed_.notify_all();
  return absl::OkStatus();
}

absl::Status FakeExecution::Kill() { return Signal(SIGKILL); }
absl::Status FakeExecution::Resize(TerminalSize) { return Signal(SIGWINCH); }

std::string FakeExecution::ReadInputToEnd() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return input_closed_ || !options_.keep_stdin_open; });
  return input_;
}

int FakeExecution::AwaitSignal() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !signals_.empty(); });
  const int signal = signals_.front();
  signals_.erase(signals_.begin());
  return signal;
}

void FakeSandbox::AddFile(const std::string& path, std::string content, uint32_t mode) {
  AddEntry(path, FileType::kFile, mode);
  entries[path].size_bytes = static_cast<int64_t>(content.size());
  contents[path] = std::move(content);
}

void FakeSandbox::AddEntry(const std::string& path, FileType type, uint32_t mode,
                           std::string link_target) {
  entries[path] = {.path = path, .type = type, .mode = mode, .link_target = std::move(link_target)};
}

absl::Status FakeSandbox::FailureOf(absl::string_view path) const {
  const auto found = failures.find(std::string(path));
  return found == failures.end() ? absl::OkStatus() : found->second;
}

absl::StatusOr<ExecResult> FakeSandbox::Execute(const Command& command,
                                                const ExecOptions& options) {
  started.push_back(command);
  CUBBY_RETURN_IF_ERROR(start_error);
  return ExecResult{};
}

absl::StatusOr<std::unique_ptr<Execution>> FakeSandbox::Start(const Command& command,
                                                              const StartOptions& options) {
  started.push_back(command);
  started_options.push_back(options);
  CUBBY_RETURN_IF_ERROR(start_error);
  return std::make_unique<FakeExecution>(options.execution_id.empty() ? "e1" : options.execution_id,
                                         options, body);
}

absl::StatusOr<std::unique_ptr<Execution>> FakeSandbox::Attach(const std::string& execution_id,
                                                               const OutputOffsets&) {
  return std::make_unique<FakeExecution>(execution_id, StartOptions{}, body);
}

absl::StatusOr<std::vector<ExecutionInfo>> FakeSandbox::ListExecutions() {
  return std::vector<ExecutionInfo>{{.id = "e1", .command = "sleep\n1", .running = true}};
}

absl::StatusOr<FileContent> FakeSandbox::ReadFile(absl::string_view path,
                                                  const ReadOptions& options) {
  FileContent content;
  CUBBY_RETURN_IF_ERROR(ReadFileTo(path, options, [&content](absl::string_view bytes) {
                          absl::StrAppend(&content.bytes, bytes);
                          return absl::OkStatus();
                        }).status());
  return content;
}

absl::StatusOr<FileContent> FakeSandbox::ReadFileTo(absl::string_view path, const ReadOptions&,
                                                    const ByteSink& sink) {
  const auto found = contents.find(std::string(path));
  if (found == contents.end()) return Missing(path);
  CUBBY_RETURN_IF_ERROR(sink(found->second));
  // After the bytes, so that a transfer can break in the middle.
  CUBBY_RETURN_IF_ERROR(FailureOf(path));
  return FileContent{.end_of_file = true};
}

absl::Status FakeSandbox::WriteFile(absl::string_view path, absl::string_view bytes,
                                    const WriteOptions& options) {
  CUBBY_RETURN_IF_ERROR(FailureOf(path));
  AddFile(std::string(path), std::string(bytes), options.mode.value_or(0644));
  return absl::OkStatus();
}

absl::Status FakeSandbox::WriteFileFrom(absl::string_view path, const ByteSource& source,
                                        const WriteOptions& options) {
  std::string all;
  char piece[4096];
  while (true) {
    CUBBY_ASSIGN_OR_RETURN(const size_t got, source(piece, sizeof(piece)));
    if (got == 0) break;
    all.append(piece, got);
  }
  return WriteFile(path, all, options);
}

absl::StatusOr<SearchSummary> FakeSandbox::ListDirTo(absl::string_view root, const ListOptions&,
                                                     const ResultSink<FileInfo>& sink) {
  CUBBY_RETURN_IF_ERROR(FailureOf(root));
  DirectoryListing listing;
  if (const auto found = listings.find(std::string(root)); found != listings.end()) {
    listing = found->second;
  } else {
    const auto self = entries.find(std::string(root));
    if (root != "/" && self == entries.end()) return Missing(root);
    if (root != "/" && self->second.type != FileType::kDirectory) {
      return absl::FailedPreconditionError(absl::StrCat(root, " is not a folder"));
    }
    for (const auto& [name, info] : entries) {
      if (name != root && Dirname(name) == root) listing.entries.push_back(info);
    }
  }
  listing.summary.results = static_cast<int64_t>(listing.entries.size());
  sink(absl::MakeSpan(listing.entries));
  return listing.summary;
}

absl::StatusOr<SearchSummary> FakeSandbox::GlobTo(absl::string_view root, absl::string_view,
                                                  const GlobOptions&,
                                                  const ResultSink<GlobMatch>& sink) {
  CUBBY_RETURN_IF_ERROR(FailureOf(root));
  GlobResult result = globbed;
  sink(absl::MakeSpan(result.matches));
  return result.summary;
}

absl::StatusOr<SearchSummary> FakeSandbox::GrepTo(absl::string_view root, absl::string_view,
                                                  const GrepOptions&,
                                                  const ResultSink<GrepMatch>& sink) {
  CUBBY_RETURN_IF_ERROR(FailureOf(root));
  GrepResult result = grepped;
  sink(absl::MakeSpan(result.matches));
  return result.summary;
}

absl::StatusOr<FileInfo> FakeSandbox::Stat(absl::string_view path) {
  if (path == "/") return FileInfo{.path = "/", .type = FileType::kDirectory, .mode = 0755};
  const auto found = entries.find(std::string(path));
  if (found == entries.end()) return Missing(path);
  return found->second;
}

absl::Status FakeSandbox::MakeDir(absl::string_view path) {
  CUBBY_RETURN_IF_ERROR(FailureOf(path));
  AddEntry(std::string(path), FileType::kDirectory);
  return absl::OkStatus();
}

absl::Status FakeSandbox::Remove(absl::string_view path, const RemoveOptions&) {
  return entries.erase(std::string(path)) == 1 ? absl::OkStatus() : Missing(path);
}

absl::Status FakeSandbox::Rename(absl::string_view, absl::string_view) {
  return absl::UnimplementedError("rename");
}

absl::Status FakeSandbox::Watch(absl::string_view, absl::Duration, const std::function<void()>&,
                                const std::function<bool(const WatchEvent&)>&) {
  return absl::UnimplementedError("watch");
}

absl::StatusOr<SandboxStats> FakeSandbox::Stats() {
  return SandboxStats{.memory_bytes = 3 << 20, .memory_limit_bytes = 1 << 30, .processes = 2};
}

absl::Status FakeSandbox::Ping(absl::Duration) { return absl::OkStatus(); }

absl::StatusOr<Created> FakeProvider::Create(const SandboxSpec& spec) {
  created.push_back(spec);
  CUBBY_RETURN_IF_ERROR(create_error);
  const std::string id =
      spec.id.empty() ? absl::StrCat("00000000000000", sandboxes.size() + 10) : spec.id;
  auto sandbox = std::make_shared<FakeSandbox>(id);
  if (on_create != nullptr) on_create(*sandbox);
  sandboxes[id] = sandbox;
  return Created{.sandbox = sandbox, .stages = {{"mount", absl::Milliseconds(2)}}};
}

absl::StatusOr<std::shared_ptr<Sandbox>> FakeProvider::Get(const std::string& id) {
  const auto found = sandboxes.find(id);
  if (found == sandboxes.end()) return Missing(absl::StrCat("sandbox ", id));
  return found->second;
}

absl::StatusOr<std::vector<SandboxInfo>> FakeProvider::List() {
  std::vector<SandboxInfo> list;
  for (const auto& [id, sandbox] : sandboxes) {
    list.push_back(
        {.id = id, .image = "img", .state = SandboxState::kRunning, .layers = {"sha256:aa"}});
  }
  return list;
}

absl::Status FakeProvider::Remove(const std::string& id) {
  CUBBY_RETURN_IF_ERROR(remove_error);
  if (sandboxes.erase(id) == 0) return Missing(absl::StrCat("sandbox ", id));
  removed.push_back(id);
  return absl::OkStatus();
}

absl::StatusOr<std::string> FakeProvider::ConsoleLog(const std::string& id) {
  return absl::StrCat("log of ", id, "\n");
}

absl::StatusOr<ImageInfo> FakeImages::Pull(const std::string& reference,
                                           const PullOptions& options) {
  pulled.push_back(reference);
  if (options.progress != nullptr) {
    options.progress({.done_bytes = 1, .total_bytes = 2, .step = "fetching"});
  }
  CUBBY_RETURN_IF_ERROR(pull_error);
  images[reference] = {.reference = reference, .digest = "sha256:00", .created = absl::UnixEpoch()};
  return images[reference];
}

absl::StatusOr<ImageInfo> FakeImages::Import(const std::string& path,
                                             const std::string& reference) {
  return Pull(reference.empty() ? path : reference, {});
}

absl::Status FakeImages::Export(const std::string& reference, const std::string&, ExportFormat) {
  return Inspect(reference).status();
}

absl::StatusOr<std::vector<ImageInfo>> FakeImages::List() {
  std::vector<ImageInfo> list;
  for (const auto& [reference, image] : images) list.push_back(image);
  return list;
}

absl::StatusOr<ImageInfo> FakeImages::Inspect(const std::string& reference) {
  const auto found = images.find(reference);
  if (found == images.end()) return Missing(absl::StrCat("image ", reference));
  return found->second;
}

absl::Status FakeImages::Remove(const std::string& reference) {
  return images.erase(reference) == 1 ? absl::OkStatus()
                                      : Missing(absl::StrCat("image ", reference));
}

absl::StatusOr<int64_t> FakeImages::Prune(const std::vector<std::string>& layers_in_use) {
  pruned_except = layers_in_use;
  return 4096;
}

absl::StatusOr<ImageInfo> FakeImages::BuildBase(const BaseImageOptions& options) {
  return Pull(options.reference, {});
}

absl::StatusOr<ImageRootfs> FakeImages::Rootfs(const std::string&) {
  return absl::UnimplementedError("rootfs");
}

}  // namespace cubby::cli::testing
