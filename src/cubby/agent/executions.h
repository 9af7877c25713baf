// All executions of the agent, and the requests about them.
#ifndef CUBBY_AGENT_EXECUTIONS_H_
#define CUBBY_AGENT_EXECUTIONS_H_

#include <stdint.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "absl/status/status.h"
#include "cubby/agent/connection.h"
#include "cubby/agent/execution.h"
#include "cubby/agent/guest_files.h"
#include "cubby/agent/memory_cgroup.h"
#include "cubby/agent/settings.h"
#include "cubby/agent/task.h"

namespace cubby::agent {

class Executions {
 public:
  Executions(EventLoop* loop, const GuestFiles* files, const Settings* settings,
             const MemoryCgroup* memory);
  ~Executions();

  // Watches for news of supervisors and for children that ended.
  absl::Status Start();

  Task<absl::Status> Exec(StreamPtr stream, wire::Exec request);
  Task<absl::Status> Attach(StreamPtr stream, wire::Attach request);
  Task<absl::Status> List(StreamPtr stream);

  void KillAll();

 private:
  using ExecutionPtr = std::shared_ptr<Execution>;

  absl::StatusOr<User> UserFor(const std::string& wanted) const;
  absl::StatusOr<CommandPlan> MakePlan(const wire::Exec& request) const;
  absl::StatusOr<ExecutionPtr> Launch(const Stream& stream, const wire::Exec& request);
  enum class Role { kStarter, kAttached };
  Task<absl::Status> Serve(StreamPtr stream, ExecutionPtr execution, Reader reader, Role role);
  // Sends what can be sent now. True when all is sent that will ever come.
  bool SendOutput(Stream* stream, const Execution& execution, Reader* reader);
  void HandleControls(Stream* stream, Execution* execution, bool* acknowledged);
  void ReapChildren();
  void OnNotified();
  bool OutOfMemory();
  // Forgets the oldest results that nobody is receiving, down to what may be kept.
  void TrimFinished();
  void Forget(const std::string& id);
  void Remember(const std::string& id);

  EventLoop* loop_;
  const GuestFiles* files_;
  const Settings* settings_;
  const MemoryCgroup* memory_;
  unique_fd notify_;
  unique_fd children_;  // signalfd
  std::map<std::string, ExecutionPtr> executions_;
  std::unordered_map<pid_t, ExecutionPtr> by_supervisor_;
  // Ended and not yet acknowledged, oldest first: kept for a caller that comes back.
  std::deque<std::string> finished_;
  // Hashes of ids that were used, oldest first.
  std::unordered_set<uint64_t> used_;
  std::deque<uint64_t> used_order_;
  uint64_t oom_kills_seen_ = 0;
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_EXECUTIONS_H_
