// The life of a machine, and which steps in it are legal.
//
//   creating ──> active <──> warm        from each of these: ──> terminating ──> gone
//       └──────> blank ──> active
//
// Removing wins: every state but `gone` can be left for `terminating`, and `terminating` can only
// be left for `gone`.
#ifndef CUBBY_POOL_MACHINE_STATE_H_
#define CUBBY_POOL_MACHINE_STATE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cubby {

enum class MachineState {
  kCreating,     // on record before anything of it exists
  kActive,       // handed out
  kWarm,         // parked, for the same identity alone
  kBlank,        // made ahead, for whoever comes first
  kTerminating,  // being removed; on record until it is seen gone
  kGone,         // nothing is left; its row goes in the same transaction
};

absl::string_view StateName(MachineState state);
// DATA_LOSS for a name that none has.
absl::StatusOr<MachineState> StateNamed(absl::string_view name);

// FAILED_PRECONDITION, saying why, when the step is not legal. A step from a state to itself is
// legal for `terminating` alone: two may ask for the same removal.
absl::Status CheckMove(MachineState from, MachineState to);

// Whether it counts against the capacity: from before it exists until it is seen gone.
inline bool HoldsSlot(MachineState state) { return state != MachineState::kGone; }

}  // namespace cubby

#endif  // CUBBY_POOL_MACHINE_STATE_H_
