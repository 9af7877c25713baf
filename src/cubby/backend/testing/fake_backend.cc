#include "cubby/backend/testing/fake_backend.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {

using Lock = std::lock_guard<std::mutex>;
using Kind = FakeFault::Kind;

namespace {

absl::Status NoSuchMachine(const std::string& id) {
  return absl::NotFoundError(absl::StrCat("machine ", id, " is not there"));
}

}  // namespace

void FakeBackend::SetFaults(FaultPlan plan) {
  const Lock lock(mutex_);
  plan_ = std::move(plan);
}

void FakeBackend::Unhang() {
  const Lock lock(mutex_);
  ++unhung_;
  changed_.notify_all();
}

void FakeBackend::WaitUntilHanging(int calls) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return hanging_ >= calls; });
}

void FakeBackend::Die(const std::string& id) {
  const Lock lock(mutex_);
  if (const auto found = machines_.find(id); found != machines_.end()) {
    found->second.info.state = SandboxState::kDead;
  }
}

void FakeBackend::SetUnresponsive(const std::string& id) {
  const Lock lock(mutex_);
  if (const auto found = machines_.find(id); found != machines_.end()) {
    found->second.unresponsive = true;
  }
}

std::vector<FakeMachine> FakeBackend::Machines() const {
  const Lock lock(mutex_);
  std::vector<FakeMachine> all;
  for (const auto& [id, machine] : machines_) all.push_back(machine);
  return all;
}

std::optional<FakeMachine> FakeBackend::Find(const std::string& id) const {
  const Lock lock(mutex_);
  const auto found = machines_.find(id);
  return found == machines_.end() ? std::nullopt : std::optional<FakeMachine>(found->second);
}

int64_t FakeBackend::created() const {
  const Lock lock(mutex_);
  return last_serial_;
}

absl::Status FakeBackend::RunningLocked(const std::string& id) const {
  const auto found = machines_.find(id);
  if (found != machines_.end() && found->second.info.state == SandboxState::kRunning) {
    return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kUnavailable, absl::StrCat("machine ", id, " does not run"),
                   {.fate = Fate::kTerminal});
}

absl::Status FakeBackend::Write(const std::string& id, const std::string& path,
                                const std::string& bytes) {
  const Lock lock(mutex_);
  CUBBY_RETURN_IF_ERROR(RunningLocked(id));
  machines_[id].files[path] = bytes;
  return absl::OkStatus();
}

absl::StatusOr<std::string> FakeBackend::Read(const std::string& id, const std::string& path) {
  const Lock lock(mutex_);
  CUBBY_RETURN_IF_ERROR(RunningLocked(id));
  const auto file = machines_[id].files.find(path);
  if (file == machines_[id].files.end()) return absl::NotFoundError(path);
  return file->second;
}

absl::Status FakeBackend::Begin(FakeCall call, const std::string& id, FakeFault* fault) {
  FaultPlan plan;
  {
    const Lock lock(mutex_);
    plan = plan_;
  }
  if (plan != nullptr) *fault = plan(call, id);
  if (fault->kind == Kind::kFail) return fault->status;
  if (fault->kind == Kind::kHang) {
    std::unique_lock<std::mutex> lock(mutex_);
    const int64_t before = unhung_;
    ++hanging_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return unhung_ != before; });
    --hanging_;
  }
  return absl::OkStatus();
}

absl::StatusOr<MachineInfo> FakeBackend::Create(const SandboxSpec& spec, Deadline deadline,
                                                std::vector<Stage>* stages) {
  FakeFault fault;
  CUBBY_RETURN_IF_ERROR(Begin(FakeCall::kCreate, spec.id, &fault));
  const Lock lock(mutex_);
  if (machines_.contains(spec.id)) {
    return absl::AlreadyExistsError(absl::StrCat("machine ", spec.id, " is there already"));
  }
  FakeMachine& machine = machines_[spec.id];
  machine.serial = ++last_serial_;
  machine.info.id = spec.id;
  machine.info.image = spec.image;
  machine.info.labels = spec.labels;
  machine.info.state = fault.kind == Kind::kFailHalf || fault.kind == Kind::kDie
                           ? SandboxState::kDead
                           : SandboxState::kRunning;
  if (fault.kind == Kind::kFailDone || fault.kind == Kind::kFailHalf) return fault.status;
  stages->push_back({.name = "fake"});
  return machine.info;
}

absl::StatusOr<unique_fd> FakeBackend::Connect(const std::string& id) {
  FakeFault fault;
  CUBBY_RETURN_IF_ERROR(Begin(FakeCall::kConnect, id, &fault));
  return absl::UnimplementedError("a fake machine has no agent");
}

absl::StatusOr<std::vector<MachineInfo>> FakeBackend::List() {
  FakeFault fault;
  CUBBY_RETURN_IF_ERROR(Begin(FakeCall::kList, "", &fault));
  const Lock lock(mutex_);
  std::vector<MachineInfo> all;
  for (const auto& [id, machine] : machines_) all.push_back(machine.info);
  return all;
}

absl::StatusOr<MachineInfo> FakeBackend::Inspect(const std::string& id) {
  FakeFault fault;
  CUBBY_RETURN_IF_ERROR(Begin(FakeCall::kInspect, id, &fault));
  const Lock lock(mutex_);
  const auto found = machines_.find(id);
  if (found == machines_.end()) return NoSuchMachine(id);
  return found->second.info;
}

absl::Status FakeBackend::Kill(const std::string& id) {
  FakeFault fault;
  CUBBY_RETURN_IF_ERROR(Begin(FakeCall::kKill, id, &fault));
  const Lock lock(mutex_);
  const auto found = machines_.find(id);
  if (found == machines_.end()) return NoSuchMachine(id);
  if (fault.kind == Kind::kFailHalf) {
    found->second.info.state = SandboxState::kDead;
    return fault.status;
  }
  machines_.erase(found);
  return fault.kind == Kind::kFailDone ? fault.status : absl::OkStatus();
}

absl::StatusOr<MachineStats> FakeBackend::Stats(const std::string& id) {
  FakeFault fault;
  CUBBY_RETURN_IF_ERROR(Begin(FakeCall::kStats, id, &fault));
  const Lock lock(mutex_);
  CUBBY_RETURN_IF_ERROR(RunningLocked(id));
  return MachineStats{};
}

absl::StatusOr<std::string> FakeBackend::ConsoleLog(const std::string& id) {
  FakeFault fault;
  CUBBY_RETURN_IF_ERROR(Begin(FakeCall::kConsoleLog, id, &fault));
  return "";
}

}  // namespace cubby
