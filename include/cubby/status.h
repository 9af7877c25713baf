// Errors of Cubby: absl::Status with a detail that programs can act on.
//
// Which code means what, the same on every backend and on every wire (the codes are gRPC's):
//
//   INVALID_ARGUMENT     the request itself is wrong: empty path, NUL, bad env key, bad range
//   NOT_FOUND            no such file, sandbox, image or execution
//   ALREADY_EXISTS       the id or name is taken (an execution id is never run twice)
//   PERMISSION_DENIED    a `..` segment, a path outside what the call may touch, EACCES inside
//   FAILED_PRECONDITION  the object is not of the needed kind (a file where a folder is needed), or
//                        the host lacks something: the message says what to do
//   RESOURCE_EXHAUSTED   a limit was reached (size, count, disk full); the message names the limit
//   DEADLINE_EXCEEDED    the call's own deadline passed (a command's time-out is not an error: see
//                        ExecResult::timed_out)
//   CANCELLED            the caller cancelled
//   OUT_OF_RANGE         a byte offset beyond what is still kept
//   UNIMPLEMENTED        this backend or this agent does not offer it; the message names it
//   UNAVAILABLE          the connection or the machine is not there: see ErrorDetail::fate
//   DATA_LOSS            bytes do not match their digest, or a stream was cut
//   INTERNAL             a bug of ours
#ifndef CUBBY_STATUS_H_
#define CUBBY_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace cubby {

// What an error means for the machine that it came from.
enum class Fate {
  kUnharmed,   // the machine is fine; repeating the same call gives the same answer
  kRetryable,  // the machine is fine; the call may succeed later
  kTerminal,   // the machine is gone or must not be used again
};

struct ErrorDetail {
  int error_number = 0;  // errno of the failing system call, 0 when there was none
  std::string path;      // the path as the caller knows it (virtual), empty when there is none
  Fate fate = Fate::kUnharmed;
};

[[nodiscard]] absl::Status MakeError(absl::StatusCode code, absl::string_view message,
                                     const ErrorDetail& detail = {});

// The status of a failed system call: `operation` and `path` go into the message, as in
// "open /a/b: No such file or directory"; the code follows from errno.
[[nodiscard]] absl::Status ErrnoError(int error_number, absl::string_view operation,
                                      absl::string_view path = {});

// The code that belongs to an errno (ENOENT is NOT_FOUND, ENOSPC is RESOURCE_EXHAUSTED, ...).
[[nodiscard]] absl::StatusCode ErrnoToCode(int error_number);

[[nodiscard]] ErrorDetail GetErrorDetail(const absl::Status& status);

[[nodiscard]] inline bool IsTerminal(const absl::Status& status) {
  return !status.ok() && GetErrorDetail(status).fate == Fate::kTerminal;
}
[[nodiscard]] inline bool IsRetryable(const absl::Status& status) {
  return !status.ok() && GetErrorDetail(status).fate == Fate::kRetryable;
}

// The same error with words put before its message; code and detail stay.
[[nodiscard]] absl::Status Annotate(const absl::Status& status, absl::string_view before);

}  // namespace cubby

#endif  // CUBBY_STATUS_H_
