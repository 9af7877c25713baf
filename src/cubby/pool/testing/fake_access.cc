#include "cubby/pool/testing/fake_access.h"

#include <utility>
#include <vector>

#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {
namespace {

absl::Status Missing() { return absl::UnimplementedError("a fake sandbox keeps files alone"); }

class FakeExecution : public Execution {
 public:
  const std::string& id() const override { return id_; }
  absl::StatusOr<ExecResult> Wait(
      const std::function<void(Channel, absl::string_view)>& sink) override {
    return ExecResult{};
  }
  absl::Status WriteStdin(absl::string_view bytes) override { return absl::OkStatus(); }
  absl::Status CloseStdin() override { return absl::OkStatus(); }
  absl::Status Signal(int signal) override { return absl::OkStatus(); }
  absl::Status Kill() override { return absl::OkStatus(); }
  absl::Status Resize(TerminalSize size) override { return absl::OkStatus(); }

 private:
  const std::string id_ = "fake";
};

class FakeSandbox : public Sandbox {
 public:
  FakeSandbox(std::string id, std::string machine_id, FakeBackend* machines)
      : id_(std::move(id)), machine_id_(std::move(machine_id)), machines_(machines) {}

  const std::string& id() const override { return id_; }
  absl::StatusOr<ExecResult> Execute(const Command& command, const ExecOptions& options) override {
    return Missing();
  }
  absl::StatusOr<std::unique_ptr<Execution>> Start(const Command& command,
                                                   const StartOptions& options) override {
    CUBBY_RETURN_IF_ERROR(Ping(absl::Seconds(1)));
    return std::make_unique<FakeExecution>();
  }
  absl::StatusOr<std::unique_ptr<Execution>> Attach(const std::string& execution_id,
                                                    const OutputOffsets& from) override {
    return Missing();
  }
  absl::StatusOr<std::vector<ExecutionInfo>> ListExecutions() override { return Missing(); }
  absl::StatusOr<FileContent> ReadFile(absl::string_view path,
                                       const ReadOptions& options) override {
    FileContent content;
    CUBBY_ASSIGN_OR_RETURN(content.bytes, machines_->Read(machine_id_, std::string(path)));
    return content;
  }
  absl::StatusOr<FileContent> ReadFileTo(absl::string_view path, const ReadOptions& options,
                                         const ByteSink& sink) override {
    return Missing();
  }
  absl::Status WriteFile(absl::string_view path, absl::string_view bytes,
                         const WriteOptions& options) override {
    return machines_->Write(machine_id_, std::string(path), std::string(bytes));
  }
  absl::Status WriteFileFrom(absl::string_view path, const ByteSource& source,
                             const WriteOptions& options) override {
    return Missing();
  }
  absl::StatusOr<SearchSummary> ListDirTo(absl::string_view root, const ListOptions& options,
                                          const ResultSink<FileInfo>& sink) override {
    return Missing();
  }
  absl::StatusOr<SearchSummary> GlobTo(absl::string_view root, absl::string_view pattern,
                                       const GlobOptions& options,
                                       const ResultSink<GlobMatch>& sink) override {
    return Missing();
  }
  absl::StatusOr<SearchSummary> GrepTo(absl::string_view root, absl::string_view pattern,
                                       const GrepOptions& options,
                                       const ResultSink<GrepMatch>& sink) override {
    return Missing();
  }
  absl::StatusOr<FileInfo> Stat(absl::string_view path) override { return Missing(); }
  absl::Status MakeDir(absl::string_view path) override { return Missing(); }
  absl::Status Remove(absl::string_view path, const RemoveOptions& options) override {
    return Missing();
  }
  absl::Status Rename(absl::string_view from, absl::string_view to) override { return Missing(); }
  absl::Status Watch(absl::string_view path, absl::Duration timeout,
                     const std::function<void()>& on_ready,
                     const std::function<bool(const WatchEvent&)>& on_event) override {
    return Missing();
  }
  absl::StatusOr<SandboxStats> Stats() override { return Missing(); }
  absl::Status Ping(absl::Duration deadline) override {
    const absl::Status status = machines_->Read(machine_id_, "ping").status();
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  }

 private:
  const std::string id_;
  const std::string machine_id_;
  FakeBackend* const machines_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Sandbox>> FakeAccess::Configure(const std::string& sandbox_id,
                                                               const SandboxSpec& spec,
                                                               const MachineInfo& machine,
                                                               Deadline deadline) {
  CUBBY_RETURN_IF_ERROR(gate_());
  std::shared_ptr<Sandbox> sandbox = Open(sandbox_id, machine.id);
  CUBBY_RETURN_IF_ERROR(sandbox->Ping(absl::Seconds(5)));
  return sandbox;
}

absl::StatusOr<std::shared_ptr<Sandbox>> FakeAccess::Verify(const std::string& sandbox_id,
                                                            const std::string& machine_id,
                                                            const std::string& nonce,
                                                            absl::Duration timeout) {
  ++checks_;
  CUBBY_RETURN_IF_ERROR(gate_());
  CUBBY_RETURN_IF_ERROR(check_result_);
  const std::optional<FakeMachine> machine = machines_->Find(machine_id);
  if (!machine.has_value()) return absl::NotFoundError("no such machine");
  if (machine->unresponsive) return absl::DeadlineExceededError("no answer");
  const auto carried = machine->info.labels.find(kNonceLabel);
  if (carried == machine->info.labels.end() || carried->second != nonce) {
    return absl::DataLossError("another machine");
  }
  std::shared_ptr<Sandbox> sandbox = Open(sandbox_id, machine_id);
  CUBBY_RETURN_IF_ERROR(sandbox->Ping(timeout));
  return sandbox;
}

std::shared_ptr<Sandbox> FakeAccess::Open(const std::string& sandbox_id,
                                          const std::string& machine_id) {
  return std::make_shared<FakeSandbox>(sandbox_id, machine_id, machines_);
}

}  // namespace cubby
