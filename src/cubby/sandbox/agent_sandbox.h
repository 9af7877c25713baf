// sandbox/: the contract of include/cubby/sandbox.h over a connection to an agent.
//
// May use base/ and wire/. It must not know what kind of machine the agent runs in, nor of pools.
#ifndef CUBBY_SANDBOX_AGENT_SANDBOX_H_
#define CUBBY_SANDBOX_AGENT_SANDBOX_H_

#include <memory>
#include <string>
#include <vector>

#include "cubby/base/env_policy.h"
#include "cubby/sandbox.h"
#include "cubby/sandbox/agent_link.h"

namespace cubby {

// What every command of the sandbox gets unless its options say otherwise.
struct SandboxSettings {
  Environment environment;
  std::string user;
};

class AgentSandbox : public Sandbox {
 public:
  AgentSandbox(std::string id, AgentConnector connect);

  // Tells the agent the settings and makes the standard folders; once, by whoever made the machine.
  absl::Status Configure(const SandboxSettings& settings, Deadline deadline);

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
  // A request whose whole answer is its end.
  absl::Status Call(wire::Request request);
  // A request that is answered by one event and its end.
  absl::StatusOr<wire::Event> CallForEvent(wire::Request request);
  absl::StatusOr<FileContent> Read(absl::string_view path, const ReadOptions& options,
                                   const ByteSink& sink);

  const std::string id_;
  const std::shared_ptr<AgentLink> link_;
};

}  // namespace cubby

#endif  // CUBBY_SANDBOX_AGENT_SANDBOX_H_
