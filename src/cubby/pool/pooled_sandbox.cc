#include "cubby/pool/pooled_sandbox.h"

#include <string>
#include <utility>
#include <vector>

#include "cubby/base/status_macros.h"

namespace cubby {
namespace {

const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// `operation` in flight; its end is reported after it has ended, so that the machine can go.
template <typename Operation>
auto Use(const std::shared_ptr<Usage>& usage, const Operation& operation) -> decltype(operation()) {
  auto result = [&]() -> decltype(operation()) {
    CUBBY_ASSIGN_OR_RETURN(const Usage::Hold hold, usage->Begin());
    return operation();
  }();
  usage->Report(StatusOf(result));
  return result;
}

// An execution is in flight until the caller lets go of it.
class PooledExecution : public Execution {
 public:
  PooledExecution(std::unique_ptr<Execution> inner, std::shared_ptr<Usage> usage, Usage::Hold hold)
      : hold_(std::move(hold)), usage_(std::move(usage)), inner_(std::move(inner)) {}

  const std::string& id() const override { return inner_->id(); }
  absl::StatusOr<ExecResult> Wait(
      const std::function<void(Channel, absl::string_view)>& sink) override {
    return Reported(inner_->Wait(sink));
  }
  absl::Status WriteStdin(absl::string_view bytes) override {
    return Reported(inner_->WriteStdin(bytes));
  }
  absl::Status CloseStdin() override { return Reported(inner_->CloseStdin()); }
  absl::Status Signal(int signal) override { return Reported(inner_->Signal(signal)); }
  absl::Status Kill() override { return Reported(inner_->Kill()); }
  absl::Status Resize(TerminalSize size) override { return Reported(inner_->Resize(size)); }

 private:
  template <typename Result>
  Result Reported(Result result) {
    usage_->Report(StatusOf(result));
    return result;
  }

  // Members end in reverse: the execution goes first.
  const Usage::Hold hold_;
  const std::shared_ptr<Usage> usage_;
  const std::unique_ptr<Execution> inner_;
};

class PooledSandbox : public Sandbox {
 public:
  PooledSandbox(std::shared_ptr<Sandbox> inner, std::shared_ptr<Usage> usage)
      : inner_(std::move(inner)), usage_(std::move(usage)) {}

  const std::string& id() const override { return inner_->id(); }
  absl::StatusOr<ExecResult> Execute(const Command& command, const ExecOptions& options) override {
    return Use(usage_, [&] { return inner_->Execute(command, options); });
  }
  absl::StatusOr<std::unique_ptr<Execution>> Start(const Command& command,
                                                   const StartOptions& options) override {
    return Held([&] { return inner_->Start(command, options); });
  }
  absl::StatusOr<std::unique_ptr<Execution>> Attach(const std::string& execution_id,
                                                    const OutputOffsets& from) override {
    return Held([&] { return inner_->Attach(execution_id, from); });
  }
  absl::StatusOr<std::vector<ExecutionInfo>> ListExecutions() override {
    return Use(usage_, [&] { return inner_->ListExecutions(); });
  }
  absl::StatusOr<FileContent> ReadFile(absl::string_view path,
                                       const ReadOptions& options) override {
    return Use(usage_, [&] { return inner_->ReadFile(path, options); });
  }
  absl::StatusOr<FileContent> ReadFileTo(absl::string_view path, const ReadOptions& options,
                                         const ByteSink& sink) override {
    return Use(usage_, [&] { return inner_->ReadFileTo(path, options, sink); });
  }
  absl::Status WriteFile(absl::string_view path, absl::string_view bytes,
                         const WriteOptions& options) override {
    return Use(usage_, [&] { return inner_->WriteFile(path, bytes, options); });
  }
  absl::Status WriteFileFrom(absl::string_view path, const ByteSource& source,
                             const WriteOptions& options) override {
    return Use(usage_, [&] { return inner_->WriteFileFrom(path, source, options); });
  }
  absl::StatusOr<SearchSummary> ListDirTo(absl::string_view root, const ListOptions& options,
                                          const ResultSink<FileInfo>& sink) override {
    return Use(usage_, [&] { return inner_->ListDirTo(root, options, sink); });
  }
  absl::StatusOr<SearchSummary> GlobTo(absl::string_view root, absl::string_view pattern,
                                       const GlobOptions& options,
                                       const ResultSink<GlobMatch>& sink) override {
    return Use(usage_, [&] { return inner_->GlobTo(root, pattern, options, sink); });
  }
  absl::StatusOr<SearchSummary> GrepTo(absl::string_view root, absl::string_view pattern,
                                       const GrepOptions& options,
                                       const ResultSink<GrepMatch>& sink) override {
    return Use(usage_, [&] { return inner_->GrepTo(root, pattern, options, sink); });
  }
  absl::StatusOr<FileInfo> Stat(absl::string_view path) override {
    return Use(usage_, [&] { return inner_->Stat(path); });
  }
  absl::Status MakeDir(absl::string_view path) override {
    return Use(usage_, [&] { return inner_->MakeDir(path); });
  }
  absl::Status Remove(absl::string_view path, const RemoveOptions& options) override {
    return Use(usage_, [&] { return inner_->Remove(path, options); });
  }
  absl::Status Rename(absl::string_view from, absl::string_view to) override {
    return Use(usage_, [&] { return inner_->Rename(from, to); });
  }
  absl::Status Watch(absl::string_view path, absl::Duration timeout,
                     const std::function<void()>& on_ready,
                     const std::function<bool(const WatchEvent&)>& on_event) override {
    return Use(usage_, [&] { return inner_->Watch(path, timeout, on_ready, on_event); });
  }
  absl::StatusOr<SandboxStats> Stats() override {
    return Use(usage_, [&] { return inner_->Stats(); });
  }
  absl::Status Ping(absl::Duration deadline) override {
    return Use(usage_, [&] { return inner_->Ping(deadline); });
  }

 private:
  template <typename Starter>
  absl::StatusOr<std::unique_ptr<Execution>> Held(const Starter& start) {
    CUBBY_ASSIGN_OR_RETURN(Usage::Hold hold, usage_->Begin());
    absl::StatusOr<std::unique_ptr<Execution>> execution = start();
    if (execution.ok()) {
      return std::make_unique<PooledExecution>(*std::move(execution), usage_, std::move(hold));
    }
    { const Usage::Hold ended = std::move(hold); }
    usage_->Report(execution.status());
    return execution.status();
  }

  const std::shared_ptr<Sandbox> inner_;
  const std::shared_ptr<Usage> usage_;
};

}  // namespace

std::shared_ptr<Sandbox> MakePooledSandbox(std::shared_ptr<Sandbox> inner,
                                           std::shared_ptr<Usage> usage) {
  return std::make_shared<PooledSandbox>(std::move(inner), std::move(usage));
}

}  // namespace cubby
