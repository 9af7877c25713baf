// A backend whose machines exist in memory alone, and which can fail, hang, lie or let a machine
// die at any call.
#ifndef CUBBY_BACKEND_TESTING_FAKE_BACKEND_H_
#define CUBBY_BACKEND_TESTING_FAKE_BACKEND_H_

#include <stdint.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cubby/backend/backend.h"

namespace cubby {

enum class FakeCall { kCreate, kConnect, kList, kInspect, kKill, kStats, kConsoleLog };

struct FakeFault {
  enum class Kind {
    kNone,
    kFail,      // an error, and nothing was done
    kFailDone,  // an error, though all was done
    kFailHalf,  // an error, and a machine that is dead but there
    kDie,       // done, and the machine dies with it
    kHang,      // done, but not before Unhang
  };
  Kind kind = Kind::kNone;
  absl::Status status = absl::UnavailableError("the fake backend fails");
};

struct FakeMachine {
  MachineInfo info;
  int64_t serial = 0;         // no two machines have the same
  bool unresponsive = false;  // it runs, but its agent does not answer in time
  std::map<std::string, std::string> files;
};

class FakeBackend : public Backend {
 public:
  // Decides the fault of every call; called without a lock, so it may do anything.
  using FaultPlan = std::function<FakeFault(FakeCall call, const std::string& id)>;
  void SetFaults(FaultPlan plan);
  void Unhang();
  void WaitUntilHanging(int calls);

  void Die(const std::string& id);
  void SetUnresponsive(const std::string& id);
  std::vector<FakeMachine> Machines() const;
  std::optional<FakeMachine> Find(const std::string& id) const;
  // What was created so far, gone ones included.
  int64_t created() const;
  // As the agent in the machine would: terminal when it does not run.
  absl::Status Write(const std::string& id, const std::string& path, const std::string& bytes);
  absl::StatusOr<std::string> Read(const std::string& id, const std::string& path);

  [[nodiscard]] const char* name() const override { return "fake"; }
  absl::StatusOr<MachineInfo> Create(const SandboxSpec& spec, Deadline deadline,
                                     std::vector<Stage>* stages) override;
  // Nobody is at the other end.
  absl::StatusOr<unique_fd> Connect(const std::string& id) override;
  absl::StatusOr<std::vector<MachineInfo>> List() override;
  absl::StatusOr<MachineInfo> Inspect(const std::string& id) override;
  absl::Status Kill(const std::string& id) override;
  absl::StatusOr<MachineStats> Stats(const std::string& id) override;
  absl::StatusOr<std::string> ConsoleLog(const std::string& id) override;

 private:
  // The error to return without doing anything; else `fault` says what happens after.
  absl::Status Begin(FakeCall call, const std::string& id, FakeFault* fault);
  absl::Status RunningLocked(const std::string& id) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  FaultPlan plan_;
  int hanging_ = 0;
  int64_t unhung_ = 0;
  int64_t last_serial_ = 0;
  std::map<std::string, FakeMachine> machines_;
};

}  // namespace cubby

#endif  // CUBBY_BACKEND_TESTING_FAKE_BACKEND_H_
