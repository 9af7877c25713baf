#include "cubby/pool/usage.h"

#include "absl/strings/str_cat.h"
#include "cubby/status.h"

namespace cubby {

Usage::Hold::~Hold() {
  if (usage_ != nullptr) usage_->End();
}

absl::StatusOr<Usage::Hold> Usage::Begin() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) {
    return MakeError(absl::StatusCode::kUnavailable,
                     absl::StrCat("sandbox ", sandbox_id_,
                                  " has been released or removed since; acquire it again"),
                     {.fate = Fate::kRetryable});
  }
  ++in_flight_;
  return Hold(shared_from_this());
}

void Usage::End() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--in_flight_ != 0 || closed_) return;
  }
  if (events_.idle != nullptr) events_.idle();
}

void Usage::Report(const absl::Status& status) {
  if (!IsTerminal(status)) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closed_ || terminated_) return;
    terminated_ = true;
  }
  if (events_.terminated != nullptr) events_.terminated(status);
}

bool Usage::TryClose() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (in_flight_ != 0) return false;
  closed_ = true;
  return true;
}

void Usage::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
}

void Usage::Reopen() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = false;
}

}  // namespace cubby
