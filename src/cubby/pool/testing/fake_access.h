// MachineAccess to the machines of a FakeBackend. Its sandboxes keep files, in memory, and find the
// machine by its name, as real ones do.
#ifndef CUBBY_POOL_TESTING_FAKE_ACCESS_H_
#define CUBBY_POOL_TESTING_FAKE_ACCESS_H_

#include <functional>
#include <memory>
#include <string>

#include "cubby/backend/testing/fake_backend.h"
#include "cubby/pool/machine_access.h"

namespace cubby {

class FakeAccess : public MachineAccess {
 public:
  // `gate` is asked before every call; an error is returned instead.
  FakeAccess(FakeBackend* machines, std::function<absl::Status()> gate)
      : machines_(machines), gate_(std::move(gate)) {}

  // What the next checks answer instead, when it is an error.
  void SetCheckResult(absl::Status status) { check_result_ = std::move(status); }
  [[nodiscard]] int checks() const { return checks_; }

  absl::StatusOr<std::shared_ptr<Sandbox>> Configure(const std::string& sandbox_id,
                                                     const SandboxSpec& spec,
                                                     const MachineInfo& machine,
                                                     Deadline deadline) override;
  absl::StatusOr<std::shared_ptr<Sandbox>> Verify(const std::string& sandbox_id,
                                                  const std::string& machine_id,
                                                  const std::string& nonce,
                                                  absl::Duration timeout) override;
  std::shared_ptr<Sandbox> Open(const std::string& sandbox_id,
                                const std::string& machine_id) override;

 private:
  FakeBackend* const machines_;
  const std::function<absl::Status()> gate_;
  absl::Status check_result_;
  int checks_ = 0;
};

}  // namespace cubby

#endif  // CUBBY_POOL_TESTING_FAKE_ACCESS_H_
