// Whether the host's KVM runs code at all.
#ifndef CUBBY_BACKEND_KVM_PROBE_H_
#define CUBBY_BACKEND_KVM_PROBE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace cubby {

// Runs a few instructions in a virtual machine, in a child process that is killed at the deadline:
// first in real mode, then in 64-bit mode with paging, which is what an ordinary kernel needs. An
// error says which step failed: NOT_FOUND (no device), PERMISSION_DENIED, DEADLINE_EXCEEDED (it
// spins), INTERNAL (it refuses).
absl::Status ProbeKvm(const std::string& device, absl::Duration deadline);

// The probe itself, for its child process: returns an exit code, see kvm_probe.cc.
int RunKvmProbe(const char* device);

}  // namespace cubby

#endif  // CUBBY_BACKEND_KVM_PROBE_H_
