// Where the benchmarks work: a temporary state directory, a root file system of busybox alone, and
// a provider of containers over it.
#ifndef CUBBY_BENCH_WORKSHOP_H_
#define CUBBY_BENCH_WORKSHOP_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cubby/base/file.h"
#include "cubby/provider.h"

namespace cubby::bench {

class Workshop {
 public:
  // Ends the program when it cannot be set up.
  Workshop();
  ~Workshop();  // removes every sandbox

  [[nodiscard]] SandboxProvider& provider() { return *provider_; }
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }
  [[nodiscard]] std::string rootfs() const { return folder() + "/layer"; }
  [[nodiscard]] const std::string& agent() const { return agent_; }

  std::shared_ptr<Sandbox> Make(std::vector<Mount> mounts = {});
  void Remove(const std::shared_ptr<Sandbox>& sandbox);
  // The pid of a sandbox's agent on the host.
  [[nodiscard]] int AgentPid(const std::string& id) const;

 private:
  TemporaryDirectory folder_;
  std::string agent_;
  std::unique_ptr<SandboxProvider> provider_;
};

// Ends the program with a message: a benchmark that went wrong has no figure.
[[noreturn]] void Die(const std::string& what);

absl::Duration TimeOf(const std::function<void()>& work);
double Median(std::vector<double> values);

}  // namespace cubby::bench

#endif  // CUBBY_BENCH_WORKSHOP_H_
