// pool/: makes, finds and removes sandboxes over a Backend.
//
// May use sandbox/, backend/, image/, wire/ and base/. It must not know what kind of machine a
// backend makes.
#ifndef CUBBY_POOL_LOCAL_PROVIDER_H_
#define CUBBY_POOL_LOCAL_PROVIDER_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cubby/backend/backend.h"
#include "cubby/pool/agent_access.h"
#include "cubby/provider.h"

namespace cubby {

class LocalProvider : public SandboxProvider {
 public:
  explicit LocalProvider(std::unique_ptr<Backend> backend)
      : backend_(std::move(backend)), access_(backend_) {}

  absl::StatusOr<Created> Create(const SandboxSpec& spec) override;
  absl::StatusOr<std::shared_ptr<Sandbox>> Get(const std::string& id) override;
  absl::StatusOr<std::vector<SandboxInfo>> List() override;
  absl::Status Remove(const std::string& id) override;
  absl::StatusOr<std::string> ConsoleLog(const std::string& id) override;

 private:
  // Handed-out sandboxes connect through the backend for as long as they live.
  const std::shared_ptr<Backend> backend_;
  AgentAccess access_;
};

}  // namespace cubby

#endif  // CUBBY_POOL_LOCAL_PROVIDER_H_
