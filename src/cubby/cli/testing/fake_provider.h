// A sandbox and its provider in memory, for what real ones do not do on demand: fail, lie, hang.
#ifndef CUBBY_CLI_TESTING_FAKE_PROVIDER_H_
#define CUBBY_CLI_TESTING_FAKE_PROVIDER_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cubby/image/store.h"
#include "cubby/provider.h"

namespace cubby::cli::testing {

// What a command does; runs inside of Wait.
class FakeExecution : public Execution {
 public:
  using Sink = std::function<void(Channel, absl::string_view)>;
  using Body = std::function<absl::StatusOr<ExecResult>(FakeExecution&, const Sink&)>;

  FakeExecution(std::string id, StartOptions options, Body body)
      : id_(std::move(id)), options_(std::move(options)), body_(std::move(body)) {}

  [[nodiscard]] const std::string& id() const override { return id_; }
  absl::StatusOr<ExecResult> Wait(const Sink& sink) override;
  absl::Status WriteStdin(absl::string_view bytes) override;
  absl::Status CloseStdin() override;
  absl::Status Signal(int signal) override;
  absl::Status Kill() override;
  absl::Status Resize(TerminalSize size) override;

  // For bodies.
  [[nodiscard]] const StartOptions& options() const { return options_; }
  std::string ReadInputToEnd();
  int AwaitSignal();  // the next one; SIGKILL for Kill

 private:
  std::string id_;
  StartOptions options_;
  Body body_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string input_;
  bool input_closed_ = false;
  std::vector<int> signals_;
};

class FakeSandbox : public Sandbox {
 public:
  explicit FakeSandbox(std::string id) : id_(std::move(id)) {}

  std::map<std::string, FileInfo> entries;  // by path; "/" is implied
  std::map<std::string, std::string> contents;
  GlobResult globbed;
  GrepResult grepped;
  std::map<std::string, DirectoryListing> listings;  // instead of what `entries` say
  std::map<std::string, absl::Status> failures;      // by path, for every operation
  FakeExecution::Body body;
  absl::Status start_error;
  std::vector<Command> started;
  std::vector<StartOptions> started_options;

  void AddFile(const std::string& path, std::string content, uint32_t mode = 0644);
  void AddEntry(const std::string& path, FileType type, uint32_t mode = 0755,
                std::string link_target = {});

  [[nodiscard]] const std::string& id() const override { return id_; }
  absl::StatusOr<ExecResult> Execute(const Command& command, const ExecOptions& options) override;
  absl::StatusOr<std::unique_ptr<Execution>> Start(const Command& command,
                                                   const StartOptions& options) override;
  absl::StatusOr<std::unique_ptr<Execution>> Attach(const std::string& execution_id,
                                                    const OutputOffsets& from) override;
  absl::StatusOr<std::vector<ExecutionInfo>> ListExecutions() override;
  absl::StatusOr<FileContent> ReadFile(absl::string_view path, const ReadOptions& options) override;
  absl::StatusOr<FileContent> ReadFileTo(absl::string_view path, const ReadOptions& options,
                                         const ByteSink& sink) override;
  absl::Status WriteFile(absl::string_view path, absl::string_view bytes,
                         const WriteOptions& options) override;
  absl::Status WriteFileFrom(absl::string_view path, const ByteSource& source,
                             const WriteOptions& options) override;
  absl::StatusOr<SearchSummary> ListDirTo(absl::string_view root, const ListOptions& options,
                                          const ResultSink<FileInfo>& sink) override;
  // `globbed` and `grepped`, whatever is asked for.
  absl::StatusOr<SearchSummary> GlobTo(absl::string_view root, absl::string_view pattern,
                                       const GlobOptions& options,
                                       const ResultSink<GlobMatch>& sink) override;
  absl::StatusOr<SearchSummary> GrepTo(absl::string_view root, absl::string_view pattern,
                                       const GrepOptions& options,
                                       const ResultSink<GrepMatch>& sink) override;
  absl::StatusOr<FileInfo> Stat(absl::string_view path) override;
  absl::Status MakeDir(absl::string_view path) override;
  absl::Status Remove(absl::string_view path, const RemoveOptions& options) override;
  absl::Status Rename(absl::string_view from, absl::string_view to) override;
  absl::Status Watch(absl::string_view path, absl::Duration timeout,
                     const std::function<void()>& on_ready,
                     const std::function<bool(const WatchEvent&)>& on_event) override;
  absl::StatusOr<SandboxStats> Stats() override;
  absl::Status Ping(absl::Duration deadline) override;

 private:
  absl::Status FailureOf(absl::string_view path) const;
  std::string id_;
};

class FakeProvider : public SandboxProvider {
 public:
  std::map<std::string, std::shared_ptr<FakeSandbox>> sandboxes;
  std::vector<SandboxSpec> created;
  std::vector<std::string> removed;
  absl::Status create_error;
  absl::Status remove_error;
  std::function<void(FakeSandbox&)> on_create;

  absl::StatusOr<Created> Create(const SandboxSpec& spec) override;
  absl::StatusOr<std::shared_ptr<Sandbox>> Get(const std::string& id) override;
  absl::StatusOr<std::vector<SandboxInfo>> List() override;
  absl::Status Remove(const std::string& id) override;
  absl::StatusOr<std::string> ConsoleLog(const std::string& id) override;
};

class FakeImages : public ImageStore {
 public:
  std::map<std::string, ImageInfo> images;
  std::vector<std::string> pulled;
  absl::Status pull_error;
  std::vector<std::string> pruned_except;

  absl::StatusOr<ImageInfo> Pull(const std::string& reference, const PullOptions& options) override;
  absl::StatusOr<ImageInfo> Import(const std::string& path, const std::string& reference) override;
  absl::Status Export(const std::string& reference, const std::string& path,
                      ExportFormat format) override;
  absl::StatusOr<std::vector<ImageInfo>> List() override;
  absl::StatusOr<ImageInfo> Inspect(const std::string& reference) override;
  absl::Status Remove(const std::string& reference) override;
  absl::StatusOr<int64_t> Prune(const std::vector<std::string>& layers_in_use) override;
  absl::StatusOr<ImageInfo> BuildBase(const BaseImageOptions& options) override;
  absl::StatusOr<ImageRootfs> Rootfs(const std::string& reference) override;
};

}  // namespace cubby::cli::testing

#endif  // CUBBY_CLI_TESTING_FAKE_PROVIDER_H_
