// A real agent for tests, on the host, in a process namespace of its own: when the test lets go of
// it, everything that its commands started is gone.
#ifndef CUBBY_AGENT_TESTING_HOST_AGENT_H_
#define CUBBY_AGENT_TESTING_HOST_AGENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cubby/base/file.h"
#include "cubby/base/subprocess.h"
#include "cubby/base/unique_fd.h"

namespace cubby::agent {

class HostAgent {
 public:
  // Ends the test program when it cannot be started.
  static std::unique_ptr<HostAgent> Start();

  // A new connection.
  absl::StatusOr<unique_fd> Connect();
  // A folder for the test's files.
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }
  // Of unshare(1), the agent's parent.
  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  void Kill() { process_.reset(); }

 private:
  HostAgent(TemporaryDirectory folder, std::unique_ptr<Subprocess> process, std::string socket)
      : folder_(std::move(folder)), process_(std::move(process)), socket_(std::move(socket)) {}

  TemporaryDirectory folder_;
  std::unique_ptr<Subprocess> process_;
  std::string socket_;
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_TESTING_HOST_AGENT_H_
