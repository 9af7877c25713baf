#include "cubby/wire/status_codec.h"

#include <algorithm>

#include "cubby/status.h"

namespace cubby::wire {
namespace {

constexpr size_t kMaxMessageBytes = 8192;

}  // namespace

Status EncodeStatus(const absl::Status& status) {
  Status message;
  message.set_code(static_cast<int>(status.code()));
  if (status.ok()) return message;
  message.set_message(std::string(status.message().substr(0, kMaxMessageBytes)));
  const ErrorDetail detail = GetErrorDetail(status);
  message.set_error_number(detail.error_number);
  message.set_path(detail.path);
  return message;
}

absl::Status DecodeStatus(const Status& status) {
  if (status.code() == 0) return absl::OkStatus();
  const bool known =
      status.code() > 0 && status.code() <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return MakeError(
      known ? static_cast<absl::StatusCode>(status.code()) : absl::StatusCode::kUnknown,
      absl::string_view(status.message()).substr(0, kMaxMessageBytes),
      {.error_number = status.error_number(), .path = status.path().substr(0, kMaxMessageBytes)});
}

}  // namespace cubby::wire
