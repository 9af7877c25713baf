#include "cubby/base/process_identity.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cubby/base/file.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {
namespace {

const std::string& BootId() {
  static const std::string& id = *new std::string([] {
    absl::StatusOr<std::string> text = ReadSmallFile("/proc/sys/kernel/random/boot_id", 128);
    return text.ok() ? std::string(absl::StripSuffix(*text, "\n")) : std::string();
  }());
  return id;
}

absl::Status Gone(pid_t pid) { return absl::NotFoundError(absl::StrCat("no process ", pid)); }

}  // namespace

absl::StatusOr<ProcessIdentity> IdentifyProcess(pid_t pid) {
  absl::StatusOr<std::string> stat = ReadSmallFile(absl::StrCat("/proc/", pid, "/stat"), 4096);
  if (!stat.ok()) return Gone(pid);
  // The command's name, field 2, stands in parentheses and may hold any byte, also ')'.
  const size_t after_name = stat->rfind(')');
  if (after_name == std::string::npos) return Gone(pid);
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(*stat).substr(after_name + 1), ' ', absl::SkipEmpty());
  constexpr size_t kState = 0;       // field 3
  constexpr size_t kStartTime = 19;  // field 22
  ProcessIdentity identity{.pid = pid, .boot_id = BootId()};
  if (fields.size() <= kStartTime || !absl::SimpleAtoi(fields[kStartTime], &identity.start_time)) {
    return Gone(pid);
  }
  if (fields[kState] == "Z" || fields[kState] == "X") return Gone(pid);
  return identity;
}

ProcessIdentity ThisProcess() {
  // Not kept: after a fork it would be the parent's.
  return IdentifyProcess(getpid()).value_or(ProcessIdentity{.pid = getpid()});
}

absl::StatusOr<unique_fd> OpenProcess(const ProcessIdentity& identity) {
  if (identity.pid <= 0) return Gone(identity.pid);
  unique_fd fd(static_cast<int>(syscall(SYS_pidfd_open, identity.pid, 0)));
  if (!fd.valid()) return Gone(identity.pid);
  // Asked after the pidfd is held: the number cannot change hands any more.
  CUBBY_ASSIGN_OR_RETURN(const ProcessIdentity now, IdentifyProcess(identity.pid));
  if (now != identity) return Gone(identity.pid);
  return fd;
}

}  // namespace cubby
