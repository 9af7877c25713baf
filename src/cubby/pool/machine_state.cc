#include "cubby/pool/machine_state.h"

#include <array>

#include "absl/strings/str_cat.h"

namespace cubby {
namespace {

constexpr std::array<MachineState, 6> kStates = {MachineState::kCreating,    MachineState::kActive,
                                                 MachineState::kWarm,        MachineState::kBlank,
                                                 MachineState::kTerminating, MachineState::kGone};
constexpr std::array<absl::string_view, 6> kNames = {"creating", "active",      "warm",
                                                     "blank",    "terminating", "gone"};

bool IsLegal(MachineState from, MachineState to) {
  switch (from) {
    case MachineState::kCreating:
      // Straight to gone: the backend says that nothing is left of the failed attempt.
      return to == MachineState::kActive || to == MachineState::kBlank ||
             to == MachineState::kTerminating || to == MachineState::kGone;
    case MachineState::kActive:
      return to == MachineState::kWarm || to == MachineState::kTerminating;
    case MachineState::kWarm:
    case MachineState::kBlank:
      return to == MachineState::kActive || to == MachineState::kTerminating;
    case MachineState::kTerminating:
      return to == MachineState::kTerminating || to == MachineState::kGone;
    case MachineState::kGone:
      return false;
  }
  return false;
}

absl::string_view WhyNot(MachineState from, MachineState to) {
  if (from == MachineState::kGone) return "it is gone for good";
  if (from == MachineState::kTerminating) return "its removal has begun and always wins";
  if (from == to) return "it is in that state already";
  if (to == MachineState::kGone) return "it has to be seen gone after a removal first";
  if (to == MachineState::kCreating) return "a machine is made once";
  if (to == MachineState::kBlank) return "what was for an identity is never for another";
  return "only an active machine can be parked";
}

}  // namespace

absl::string_view StateName(MachineState state) { return kNames[static_cast<size_t>(state)]; }

absl::StatusOr<MachineState> StateNamed(absl::string_view name) {
  for (const MachineState state : kStates) {
    if (StateName(state) == name) return state;
  }
  return absl::DataLossError(absl::StrCat("\"", name, "\" is no state of a machine"));
}

absl::Status CheckMove(MachineState from, MachineState to) {
  if (IsLegal(from, to)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("a machine that is ", StateName(from),
                                                    " cannot become ", StateName(to), ": ",
                                                    WhyNot(from, to)));
}

}  // namespace cubby
