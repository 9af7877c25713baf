#include "cubby/status.h"

#include <errno.h>
#include <string.h>

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"

namespace cubby {
namespace {

constexpr char kDetailUrl[] = "type.cubby/ErrorDetail";

// "errno fate path"; the path comes last because it may hold any byte.
absl::Cord EncodeDetail(const ErrorDetail& detail) {
  return absl::Cord(
      absl::StrCat(detail.error_number, " ", static_cast<int>(detail.fate), " ", detail.path));
}

ErrorDetail DecodeDetail(const std::string& text) {
  ErrorDetail detail;
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 2));
  int fate = 0;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &detail.error_number) ||
      !absl::SimpleAtoi(parts[1], &fate)) {
    return detail;
  }
  if (fate >= 0 && fate <= static_cast<int>(Fate::kTerminal)) detail.fate = static_cast<Fate>(fate);
  detail.path = parts[2];
  return detail;
}

}  // namespace

absl::Status MakeError(absl::StatusCode code, absl::string_view message,
                       const ErrorDetail& detail) {
  absl::Status status(code, message);
  if (detail.error_number != 0 || !detail.path.empty() || detail.fate != Fate::kUnharmed) {
    status.SetPayload(kDetailUrl, EncodeDetail(detail));
  }
  return status;
}

absl::StatusCode ErrnoToCode(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENXIO:
    case ESRCH:
      return absl::StatusCode::kNotFound;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
    case EXDEV:
      return absl::StatusCode::kPermissionDenied;
    case EINVAL:
    case ENAMETOOLONG:
    case EBADF:
      return absl::StatusCode::kInvalidArgument;
    case ENOTDIR:
    case EISDIR:
    case ENOTEMPTY:
    case EBUSY:
    case ETXTBSY:
    case ELOOP:
      return absl::StatusCode::kFailedPrecondition;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
    case EMLINK:
    case E2BIG:
      return absl::StatusCode::kResourceExhausted;
    case ETIMEDOUT:
      return absl::StatusCode::kDeadlineExceeded;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case ENOTCONN:
    case ENETUNREACH:
    case EHOSTUNREACH:
      return absl::StatusCode::kUnavailable;
    case ENOSYS:
    case EOPNOTSUPP:
      return absl::StatusCode::kUnimplemented;
    default:
      return absl::StatusCode::kInternal;
  }
}

absl::Status ErrnoError(int error_number, absl::string_view operation, absl::string_view path) {
  return MakeError(
      ErrnoToCode(error_number),
      absl::StrCat(operation, path.empty() ? "" : " ", path, ": ",
                   strerrordesc_np(error_number) != nullptr ? strerrordesc_np(error_number)
                                                            : "unknown error"),
      {.error_number = error_number, .path = std::string(path)});
}

ErrorDetail GetErrorDetail(const absl::Status& status) {
  absl::optional<absl::Cord> payload = status.GetPayload(kDetailUrl);
  if (!payload.has_value()) return {};
  return DecodeDetail(std::string(*payload));
}

absl::Status Annotate(const absl::Status& status, absl::string_view before) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(), absl::StrCat(before, ": ", status.message()));
  status.ForEachPayload([&annotated](absl::string_view url, const absl::Cord& payload) {
    annotated.SetPayload(url, payload);
  });
  return annotated;
}

}  // namespace cubby
