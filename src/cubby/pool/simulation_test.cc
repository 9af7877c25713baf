// Random schedules of several processes on one host, from a seed, in one thread and with a clock
// that stands still: after every step nothing that must always hold is broken.
//
// A failure prints its seed: CUBBY_SIMULATION_SEED=<seed> runs that schedule alone, and
// CUBBY_SIMULATION_RUNS=<n> sets how many are run.
#include <stdlib.h>

#include <algorithm>
#include <random>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cubby/base/log.h"
#include "cubby/pool/owner_label.h"
#include "cubby/pool/testing/pool_world.h"
#include "cubby/status.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

using Kind = FakeFault::Kind;

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = getenv(name);
  int64_t number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number : otherwise;
}

class Simulation {
 public:
  explicit Simulation(int64_t seed) : random_(static_cast<uint64_t>(seed)) {
    settings_.replicas = 1 + Choose(3);
    settings_.overflow_policy = static_cast<OverflowPolicy>(Choose(3));
    settings_.acquire_timeout = absl::Seconds(1);
    settings_.idle_timeout = absl::Seconds(Choose(2) * 100);
    settings_.health_check_skip = absl::Seconds(Choose(2) * 20);
    settings_.blanks = Choose(3) == 0 ? 1 : 0;
    processes_.resize(3);
    host_.machines().SetFaults(
        [this](FakeCall call, const std::string& id) { return Fault(call, id); });
  }

  // Whether all held.
  bool Run(int steps) {
    for (int step = 0; step < steps; ++step) {
      Step();
      graveyard_.clear();
      CheckAlways();
      if (!Fine()) return false;
    }
    CheckEnd();
    return Fine();
  }
  std::string Trace() const { return absl::StrJoin(trace_, "\n"); }

 private:
  // A sandbox that somebody was given and that is still his.
  struct Held {
    int process = 0;
    std::string tenant;  // what is written into its machine
    std::shared_ptr<Sandbox> sandbox;
    std::unique_ptr<Execution> execution;
    int64_t serial = 0;
  };

  static bool Fine() { return !testing::Test::HasFailure(); }
  int Choose(int choices) { return static_cast<int>(random_() % static_cast<uint64_t>(choices)); }
  bool OneIn(int chances) { return Choose(chances) == 0; }
  void Note(std::string line) { trace_.push_back(std::move(line)); }
  Identity SomeIdentity() {
    return {.user = std::to_string(Choose(2)), .thread = std::to_string(Choose(2))};
  }

  FakeFault Fault(FakeCall call, const std::string& id) {
    // While one process waits for the backend, another does something.
    if (depth_ == 1 && call != FakeCall::kList && OneIn(8)) Step();
    if (!faulty_ || !OneIn(6)) return {};
    const bool create = call == FakeCall::kCreate;
    if (!create && call != FakeCall::kKill && call != FakeCall::kInspect) return {};
    static constexpr Kind kKinds[] = {Kind::kFail, Kind::kFailDone, Kind::kFailHalf, Kind::kDie};
    const Kind kind = kKinds[Choose(create ? 4 : 3)];
    Note(absl::StrCat("  fault ", static_cast<int>(kind), " in call ", static_cast<int>(call), " ",
                      id));
    if (kind == Kind::kFailHalf) Lose(id);
    return {.kind = kind};
  }

  // Nobody holds the machine or sandbox any more.
  void Lose(const std::string& id) {
    const auto row = host_.registry().Find(id);
    const std::string sandbox = row.ok() && row->has_value() ? (*row)->sandbox_id : id;
    Drop(held_.find(sandbox));
    Drop(held_.find(id));
  }

  // What still runs in it ends with the step: its process may be in the middle of something.
  void Drop(std::map<std::string, Held>::iterator held) {
    if (held == held_.end()) return;
    graveyard_.push_back(std::move(held->second));
    held_.erase(held);
  }

  void Step() {
    ++depth_;
    const int index = Choose(static_cast<int>(processes_.size()));
    // One process does one thing at a time: the clock would not move for its other threads.
    if (!busy_.insert(index).second) {
      --depth_;
      return;
    }
    if (processes_[index] == nullptr || !processes_[index]->alive()) {
      StartProcess(index);
    } else {
      if (OneIn(12)) {
        const int calls = 1 + Choose(15);
        Note(absl::StrCat(index, " dies after ", calls, " calls"));
        processes_[index]->DieAfter(calls);
      }
      Act(index);
      if (processes_[index]->alive()) processes_[index]->Survive();
      if (!processes_[index]->alive()) Buried(index);
    }
    busy_.erase(index);
    --depth_;
  }

  void StartProcess(int index) {
    Note(absl::StrCat(index, " starts"));
    processes_[index] = host_.Start(settings_);
    if (OneIn(10)) processes_[index]->DieAfter(1 + Choose(20));
    processes_[index]->pool().Recover().IgnoreError();
    if (!processes_[index]->alive()) Buried(index);
    if (processes_[index]->alive()) processes_[index]->Survive();
  }

  void Buried(int index) {
    Note(absl::StrCat(index, " is dead"));
    for (auto held = held_.begin(); held != held_.end();) {
      const auto next = std::next(held);
      if (held->second.process == index) Drop(held);
      held = next;
    }
  }

  void Act(int index) {
    SandboxPool& pool = processes_[index]->pool();
    switch (Choose(12)) {
      case 0:
      case 1:
      case 2:
        return Acquire(index, SomeIdentity());
      case 3:
        return AcquireAnonymous(index);
      case 4:
      case 5:
        return Use(index);
      case 6:
      case 7:
        return Release(index);
      case 8: {
        const std::string id = SandboxIdOf(SomeIdentity());
        Note(absl::StrCat(index, " destroys ", id));
        Drop(held_.find(id));
        pool.Destroy(id).IgnoreError();
        Drop(held_.find(id));
        return;
      }
      case 9:
        Note(absl::StrCat(index, " maintains"));
        pool.Maintain();
        return;
      case 10: {
        const absl::Duration pause = absl::Seconds(Choose(150));
        Note(absl::StrCat("time passes: ", absl::FormatDuration(pause)));
        host_.clock().Advance(pause);
        // Living processes renew what they hold long before it lapses.
        for (size_t other = 0; other < processes_.size(); ++other) {
          if (processes_[other] == nullptr || !processes_[other]->alive()) continue;
          const bool was_busy = !busy_.insert(static_cast<int>(other)).second;
          if (!was_busy || static_cast<int>(other) == index) processes_[other]->pool().Maintain();
          if (!was_busy) busy_.erase(static_cast<int>(other));
        }
        return;
      }
      case 11:
        return Disturb(index);
    }
  }

  void Acquire(int index, const Identity& identity) {
    const std::string id = SandboxIdOf(identity);
    Note(absl::StrCat(index, " acquires ", id));
    // A thread moves: whoever had it has lost it, and so has whoever finds it dead meanwhile.
    if (const auto held = held_.find(id); held != held_.end() && held->second.process != index) {
      Drop(held);
    }
    absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = processes_[index]->pool().Acquire(identity);
    Note(absl::StrCat("  ", index, ": ", sandbox.status().ToString()));
    if (!sandbox.ok()) return;
    EXPECT_EQ((*sandbox)->id(), id);
    Hold(index, Describe(identity), *std::move(sandbox));
  }

  void AcquireAnonymous(int index) {
    absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = processes_[index]->pool().AcquireAnonymous();
    Note(absl::StrCat(index, " acquires an anonymous one: ", sandbox.status().ToString()));
    if (!sandbox.ok()) return;
    const std::string id = (*sandbox)->id();
    Hold(index, absl::StrCat("anonymous ", id), *std::move(sandbox));
  }

  void Hold(int index, const std::string& tenant, std::shared_ptr<Sandbox> sandbox) {
    // The process may have died, or the machine, on the way back.
    if (!processes_[index]->alive()) return;
    const auto row = host_.registry().FindSandbox(sandbox->id());
    ASSERT_TRUE(row.ok() && row->has_value()) << "handed out without a record";
    EXPECT_EQ((*row)->state, MachineState::kActive);
    EXPECT_EQ((*row)->owner, processes_[index]->owner());
    const std::optional<FakeMachine> machine = host_.machines().Find((*row)->machine_id);
    if (!machine.has_value() || machine->info.state != SandboxState::kRunning) {
      EXPECT_TRUE(disturbed_) << "handed out dead";
      return;
    }
    const auto before = machine->files.find("tenant");
    EXPECT_TRUE(before == machine->files.end() || before->second == tenant)
        << before->second << "'s machine was given to " << tenant;
    EXPECT_TRUE(sandbox->WriteFile("tenant", tenant).ok());
    Held& held = held_[sandbox->id()];
    if (held.sandbox != sandbox) {
      graveyard_.push_back({.execution = std::move(held.execution)});
      held.execution = nullptr;
    }
    held.process = index;
    held.tenant = tenant;
    held.sandbox = std::move(sandbox);
    held.serial = machine->serial;
  }

  std::map<std::string, Held>::iterator SomeHeld(int index) {
    std::vector<std::string> ids;
    for (const auto& [id, held] : held_) {
      if (held.process == index) ids.push_back(id);
    }
    return ids.empty() ? held_.end() : held_.find(ids[Choose(static_cast<int>(ids.size()))]);
  }

  void Use(int index) {
    const auto found = SomeHeld(index);
    if (found == held_.end()) return;
    Held& held = found->second;
    Note(absl::StrCat(index, " uses ", found->first));
    if (held.execution != nullptr) {
      const std::unique_ptr<Execution> ended = std::move(held.execution);
      return;
    }
    if (OneIn(3)) {
      absl::StatusOr<std::unique_ptr<Execution>> execution =
          held.sandbox->Start(Command::Shell("true"));
      if (execution.ok()) held.execution = *std::move(execution);
      return;
    }
    const absl::StatusOr<FileContent> content = held.sandbox->ReadFile("tenant");
    if (content.ok()) {
      EXPECT_EQ(content->bytes, held.tenant);
    } else {
      EXPECT_TRUE(IsTerminal(content.status()) || !processes_[index]->alive())
          << content.status() << ": taken away while it was held";
    }
  }

  void Release(int index) {
    const auto found = SomeHeld(index);
    if (found == held_.end()) return;
    const std::string id = found->first;
    Note(absl::StrCat(index, " releases ", id, found->second.execution ? " in use" : ""));
    const bool in_use = found->second.execution != nullptr;
    // Its operation goes on: only its end lets the machine go.
    Held held = std::move(found->second);
    held_.erase(found);
    processes_[index]->pool().Release(id).IgnoreError();
    if (!in_use || !processes_[index]->alive()) return;
    const auto row = host_.registry().FindSandbox(id);
    ASSERT_TRUE(row.ok() && row->has_value()) << "removed with an operation in flight";
    EXPECT_EQ((*row)->state, MachineState::kActive) << "parked with an operation in flight";
    held.execution.reset();
    if (processes_[index]->alive()) {
      EXPECT_EQ(processes_[index]->pool().Get(id), nullptr) << "its end did not let it go";
    }
  }

  void Disturb(int index) {
    if (OneIn(3)) {
      faulty_ = !faulty_;
      Note(absl::StrCat("faults: ", faulty_));
      return;
    }
    if (OneIn(3)) {
      Note(absl::StrCat(index, " is killed"));
      processes_[index]->Die();
      return;
    }
    const std::vector<FakeMachine> machines = host_.machines().Machines();
    if (machines.empty()) return;
    const std::string id = machines[Choose(static_cast<int>(machines.size()))].info.id;
    Lose(id);
    disturbed_ = true;
    Note(absl::StrCat("machine ", id, " fails"));
    OneIn(2) ? host_.machines().Die(id) : host_.machines().SetUnresponsive(id);
  }

  void CheckAlways() {
    const std::vector<MachineRow> rows = *host_.registry().List();
    std::map<std::string, MachineRow> by_machine;
    std::set<Identity> identities;
    int tenants = 0;
    for (const MachineRow& row : rows) {
      by_machine[row.machine_id] = row;
      if (row.tenancy != Tenancy::kNobody) ++tenants;
      if (row.tenancy == Tenancy::kThread) {
        EXPECT_TRUE(identities.insert(row.identity).second) << "two machines of one identity";
        EXPECT_EQ(row.sandbox_id, SandboxIdOf(row.identity));
      }
    }
    if (settings_.overflow_policy != OverflowPolicy::kBurst) {
      EXPECT_LE(tenants, settings_.replicas);
    }
    for (const FakeMachine& machine : host_.machines().Machines()) {
      const auto row = by_machine.find(machine.info.id);
      if (row == by_machine.end()) {
        // Its maker died with a machine in his hands whose record somebody had removed: the next
        // process that starts finds it by its label.
        const auto maker = ParseOwnerLabel(machine.info.labels.at(kOwnerLabel));
        EXPECT_TRUE(maker.has_value() && (!host_.IsAlive(maker->id) || faulty_))
            << "machine " << machine.info.id << " of owner " << machine.info.labels.at(kOwnerLabel)
            << " is on no record";
        continue;
      }
      EXPECT_EQ(machine.info.labels.at(kNonceLabel), row->second.nonce) << machine.info.id;
      const auto tenant = machine.files.find("tenant");
      if (tenant != machine.files.end() && row->second.tenancy == Tenancy::kThread) {
        EXPECT_EQ(tenant->second, Describe(row->second.identity));
      }
    }
    for (const auto& [id, held] : held_) {
      const auto row = std::find_if(rows.begin(), rows.end(),
                                    [&](const MachineRow& row) { return row.sandbox_id == id; });
      ASSERT_NE(row, rows.end()) << "active " << id << " has vanished";
      EXPECT_EQ(row->state, MachineState::kActive) << id;
      const std::optional<FakeMachine> machine = host_.machines().Find(row->machine_id);
      EXPECT_TRUE(machine.has_value() && machine->serial == held.serial)
          << "the machine of active " << id << " was taken away";
    }
  }

  // All die; one process finds everything, settles it, and leaves nothing.
  void CheckEnd() {
    Note("the end");
    faulty_ = false;
    depth_ = 2;
    held_.clear();
    graveyard_.clear();
    for (std::unique_ptr<PoolProcess>& process : processes_) process.reset();
    const std::unique_ptr<PoolProcess> last = host_.Start(settings_);
    EXPECT_TRUE(last->pool().Recover().ok());
    host_.clock().Advance(absl::Minutes(2));
    last->pool().Maintain();
    const std::vector<MachineRow> rows = *host_.registry().List();
    for (const MachineRow& row : rows) {
      EXPECT_EQ(row.owner, last->owner()) << row.machine_id;
      EXPECT_TRUE(row.state == MachineState::kWarm || row.state == MachineState::kBlank)
          << StateName(row.state);
    }
    EXPECT_EQ(host_.machines().Machines().size(), rows.size());
    EXPECT_TRUE(last->pool().Shutdown().ok());
    EXPECT_TRUE(host_.machines().Machines().empty());
    EXPECT_TRUE(host_.registry().List()->empty());
  }

  PoolHost host_;
  std::mt19937_64 random_;
  PoolSettings settings_;
  std::vector<std::unique_ptr<PoolProcess>> processes_;
  std::map<std::string, Held> held_;  // by sandbox id
  std::vector<Held> graveyard_;
  std::set<int> busy_;  // processes in the middle of something
  std::vector<std::string> trace_;
  int depth_ = 0;
  bool faulty_ = false;
  bool disturbed_ = false;
};

TEST(PoolSimulationTest, NothingIsSharedLostOrLeakedInAnySchedule) {
  SetLogSink([](Severity, absl::string_view) {});
  const int64_t only = FromEnvironment("CUBBY_SIMULATION_SEED", 0);
  const int64_t first = only != 0 ? only : 1;
  const int64_t runs = only != 0 ? 1 : FromEnvironment("CUBBY_SIMULATION_RUNS", 1000);
  for (int64_t seed = first; seed < first + runs; ++seed) {
    Simulation simulation(seed);
    ASSERT_TRUE(simulation.Run(40)) << "CUBBY_SIMULATION_SEED=" << seed << "\n"
                                    << simulation.Trace();
  }
}

}  // namespace
}  // namespace cubby
