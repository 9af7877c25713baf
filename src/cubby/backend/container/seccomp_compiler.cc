// Run by the build: turns seccomp_rules.h into the filter program that a runtime can load as it is.
// Compiling the rules at every start of a container would take longer than the rest of the start.
//
// Writes base64 on standard output, inside a C++ string literal.
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "absl/strings/escaping.h"
#include "cubby/backend/container/seccomp_rules.h"

namespace {

void Check(int result, const char* what) {
  if (result == 0) return;
  fprintf(stderr, "seccomp rules: %s: error %d\n", what, -result);
  exit(1);
}

}  // namespace

int main() {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  if (filter == nullptr) return 1;
  Check(seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2), "optimize");
  for (const char* name : cubby::kAllowedSyscalls) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR || number < 0) continue;
    Check(seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0), name);
  }
  Check(seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                         SCMP_A0(SCMP_CMP_MASKED_EQ, cubby::kNamespaceFlags, 0)),
        "clone");
  Check(seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0), "clone3");
  Check(seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                         SCMP_A0(SCMP_CMP_LE, cubby::kHighestSocketFamily)),
        "socket");
  for (uint64_t persona : cubby::kAllowedPersonalities) {
    Check(seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(personality), 1,
                           SCMP_A0(SCMP_CMP_EQ, persona)),
          "personality");
  }
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return 1;
  // A few kilobytes: they fit the pipe.
  Check(seccomp_export_bpf(filter, pipe_ends[1]), "export");
  close(pipe_ends[1]);
  std::string program;
  char buffer[4096];
  for (ssize_t n; (n = read(pipe_ends[0], buffer, sizeof(buffer))) > 0;) {
    program.append(buffer, static_cast<size_t>(n));
  }
  seccomp_release(filter);
  printf("\"%s\"\n", absl::Base64Escape(program).c_str());
  return 0;
}
