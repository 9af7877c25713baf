#include "cubby/status.h"

#include <errno.h>

#include "gtest/gtest.h"

namespace cubby {
namespace {

TEST(Status, ErrnoErrorNamesOperationPathAndReason) {
  const absl::Status status = ErrnoError(ENOENT, "open", "/a b\nc");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "open /a b\nc: No such file or directory");
  const ErrorDetail detail = GetErrorDetail(status);
  EXPECT_EQ(detail.error_number, ENOENT);
  EXPECT_EQ(detail.path, "/a b\nc");
  EXPECT_EQ(detail.fate, Fate::kUnharmed);
}

TEST(Status, FateSurvivesAnnotation) {
  const absl::Status status = Annotate(
      MakeError(absl::StatusCode::kUnavailable, "gone", {.fate = Fate::kTerminal}), "exec");
  EXPECT_EQ(status.message(), "exec: gone");
  EXPECT_TRUE(IsTerminal(status));
  EXPECT_FALSE(IsRetryable(status));
}

TEST(Status, StatusWithoutDetailIsUnharmed) {
  EXPECT_FALSE(IsTerminal(absl::InternalError("x")));
  EXPECT_EQ(GetErrorDetail(absl::OkStatus()).error_number, 0);
}

}  // namespace
}  // namespace cubby
