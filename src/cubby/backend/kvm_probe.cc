#include "cubby/backend/kvm_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "cubby/base/deadline.h"
#include "cubby/base/unique_fd.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr size_t kMemoryBytes = 64 << 10;
constexpr uint64_t kCodeAt = 0x1000;
constexpr uint64_t kTablesAt = 0x2000;  // three page tables of 4 KiB
constexpr uint16_t kPort = 0x3f8;
constexpr char kAnswer = 'k';

enum ProbeResult { kWorks = 0, kNoDevice = 10, kNoPermission, kNoMachine, kNoCpu, kNoRun, kWrong };

// mov dx, 0x3f8; mov al, 'k'; out dx, al; hlt — the same bytes in 16 and (with a prefix) 64 bits.
constexpr unsigned char kCode16[] = {0xba, 0xf8, 0x03, 0xb0, kAnswer, 0xee, 0xf4};
constexpr unsigned char kCode64[] = {0x66, 0xba, 0xf8, 0x03, 0xb0, kAnswer, 0xee, 0xf4};

void UseRealMode(kvm_sregs* system) {
  system->cs.base = 0;
  system->cs.selector = 0;
}

// Flat segments and one identity-mapped page of 2 MiB.
void UseLongMode(kvm_sregs* system, unsigned char* memory) {
  const uint64_t present_writable = 3, large = 1 << 7;
  const auto put = [memory](uint64_t at, uint64_t value) { memcpy(memory + at, &value, 8); };
  put(kTablesAt, (kTablesAt + 0x1000) | present_writable);
  put(kTablesAt + 0x1000, (kTablesAt + 0x2000) | present_writable);
  put(kTablesAt + 0x2000, large | present_writable);
  kvm_segment code{};
  code.limit = 0xffffffff;
  code.selector = 8;
  code.type = 11;
  code.present = code.s = code.l = code.g = 1;
  kvm_segment data = code;
  data.type = 3;
  data.selector = 16;
  data.l = 0;
  data.db = 1;
  system->cs = code;
  system->ds = system->es = system->fs = system->gs = system->ss = data;
  system->cr3 = kTablesAt;
  system->cr4 = 1 << 5;               // PAE
  system->cr0 = 0x80000001 | 1 << 4;  // paging, protection, extension type
  system->efer = 1 << 8 | 1 << 10;    // long mode, enabled and active
}

int RunMode(int kvm, bool long_mode) {
  const int machine = ioctl(kvm, KVM_CREATE_VM, 0);
  if (machine < 0) return kNoMachine;
  void* mapped =
      mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return kNoMachine;
  auto* memory = static_cast<unsigned char*>(mapped);
  if (long_mode) {
    memcpy(memory + kCodeAt, kCode64, sizeof(kCode64));
  } else {
    memcpy(memory + kCodeAt, kCode16, sizeof(kCode16));
  }
  kvm_userspace_memory_region region{};
  region.memory_size = kMemoryBytes;
  region.userspace_addr = reinterpret_cast<uint64_t>(mapped);
  if (ioctl(machine, KVM_SET_USER_MEMORY_REGION, &region) < 0) return kNoMachine;
  const int cpu = ioctl(machine, KVM_CREATE_VCPU, 0);
  const int run_bytes = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
  if (cpu < 0 || run_bytes <= 0) return kNoCpu;
  auto* run = static_cast<kvm_run*>(
      mmap(nullptr, static_cast<size_t>(run_bytes), PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0));
  if (run == MAP_FAILED) return kNoCpu;
  kvm_sregs system{};
  if (ioctl(cpu, KVM_GET_SREGS, &system) < 0) return kNoCpu;
  if (long_mode) {
    UseLongMode(&system, memory);
  } else {
    UseRealMode(&system);
  }
  kvm_regs registers{};
  registers.rip = kCodeAt;
  registers.rflags = 2;
  if (ioctl(cpu, KVM_SET_SREGS, &system) < 0 || ioctl(cpu, KVM_SET_REGS, &registers) < 0) {
    return kNoCpu;
  }
  if (ioctl(cpu, KVM_RUN, 0) < 0) return kNoRun;
  const bool answered = run->exit_reason == KVM_EXIT_IO && run->io.port == kPort &&
                        reinterpret_cast<const char*>(run)[run->io.data_offset] == kAnswer;
  return answered ? kWorks : kWrong;
}

}  // namespace

int RunKvmProbe(const char* device) {
  const int kvm = open(device, O_RDWR | O_CLOEXEC);
  if (kvm < 0) return errno == EACCES || errno == EPERM ? kNoPermission : kNoDevice;
  if (ioctl(kvm, KVM_GET_API_VERSION, 0) != KVM_API_VERSION) return kNoDevice;
  if (const int result = RunMode(kvm, false); result != kWorks) return result;
  return RunMode(kvm, true);
}

absl::Status ProbeKvm(const std::string& device, absl::Duration deadline) {
  // fork, not Spawn: there is no program to run, and a probe may take its time.
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError(errno, "fork");
  if (pid == 0) _exit(RunKvmProbe(device.c_str()));
  unique_fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd poller{.fd = pidfd.get(), .events = POLLIN};
  const bool ended = poll(&poller, 1, Deadline::After(deadline).PollTimeoutMs()) > 0;
  if (!ended) kill(pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  if (!ended) return absl::DeadlineExceededError("a virtual machine spins and runs nothing");
  switch (WIFEXITED(status) ? WEXITSTATUS(status) : -1) {
    case kWorks:
      return absl::OkStatus();
    case kNoDevice:
      return absl::NotFoundError(absl::StrCat("no KVM at ", device));
    case kNoPermission:
      return absl::PermissionDeniedError(absl::StrCat("no permission for ", device));
    default:
      return absl::InternalError(
          absl::StrCat("KVM is there and cannot run a machine (step ",
                       WIFEXITED(status) ? WEXITSTATUS(status) - kNoDevice : -1, ")"));
  }
}

}  // namespace cubby
