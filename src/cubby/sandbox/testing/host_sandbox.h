// A sandbox over a real agent that runs on the host, for tests of what needs no machine of its own.
#ifndef CUBBY_SANDBOX_TESTING_HOST_SANDBOX_H_
#define CUBBY_SANDBOX_TESTING_HOST_SANDBOX_H_

#include <memory>
#include <string>

#include "cubby/agent/testing/host_agent.h"
#include "cubby/sandbox/agent_sandbox.h"
#include "gtest/gtest.h"

namespace cubby {

class HostSandboxTest : public testing::Test {
 protected:
  HostSandboxTest()
      : agent_(agent::HostAgent::Start()),
        implementation_("0123456789abcdef", [this] { return agent_->Connect(); }),
        sandbox_(implementation_),
        folder_(agent_->folder()) {}

  ExecResult Run(const std::string& script, ExecOptions options = {}) {
    if (options.working_directory.empty()) options.working_directory = folder_;
    absl::StatusOr<ExecResult> result = sandbox_.Execute(Command::Shell(script), options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : ExecResult{.exit_code = -1};
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  std::unique_ptr<agent::HostAgent> agent_;
  AgentSandbox implementation_;
  Sandbox& sandbox_;
  const std::string folder_;
};

}  // namespace cubby

#endif  // CUBBY_SANDBOX_TESTING_HOST_SANDBOX_H_
