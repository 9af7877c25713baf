#include "cubby/pool/machine_state.h"

#include <set>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

using testing::HasSubstr;

constexpr MachineState kAll[] = {MachineState::kCreating,    MachineState::kActive,
                                 MachineState::kWarm,        MachineState::kBlank,
                                 MachineState::kTerminating, MachineState::kGone};

TEST(MachineStateTest, LegalMovesAreExactlyThese) {
  using enum MachineState;
  const std::set<std::pair<MachineState, MachineState>> legal = {
      {kCreating, kActive},   {kCreating, kBlank},   {kCreating, kTerminating},
      {kCreating, kGone},     {kActive, kWarm},      {kActive, kTerminating},
      {kWarm, kActive},       {kWarm, kTerminating}, {kBlank, kActive},
      {kBlank, kTerminating}, {kTerminating, kGone}, {kTerminating, kTerminating},
  };
  for (const MachineState from : kAll) {
    for (const MachineState to : kAll) {
      const absl::Status status = CheckMove(from, to);
      EXPECT_EQ(status.ok(), legal.contains({from, to})) << status;
    }
  }
}

// Every state has an exit, and removing wins over all.
TEST(MachineStateTest, EveryStateButGoneCanBeLeftByRemoval) {
  for (const MachineState from : kAll) {
    EXPECT_EQ(CheckMove(from, MachineState::kTerminating).ok(), from != MachineState::kGone);
  }
}

TEST(MachineStateTest, RefusalSaysWhy) {
  const absl::Status status = CheckMove(MachineState::kTerminating, MachineState::kActive);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("terminating cannot become active"), HasSubstr("wins")));
  EXPECT_THAT(std::string(CheckMove(MachineState::kWarm, MachineState::kBlank).message()),
              HasSubstr("never for another"));
}

TEST(MachineStateTest, NamesAreReadBack) {
  for (const MachineState state : kAll) EXPECT_EQ(*StateNamed(StateName(state)), state);
  EXPECT_EQ(StateNamed("Active").status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace cubby
