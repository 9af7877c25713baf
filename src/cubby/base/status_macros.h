// Early return on a failed status.
#ifndef CUBBY_BASE_STATUS_MACROS_H_
#define CUBBY_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/statusor.h"

#define CUBBY_RETURN_IF_ERROR(expr)                                 \
  do {                                                              \
    if (::absl::Status cubby_status = (expr); !cubby_status.ok()) { \
      return cubby_status;                                          \
    }                                                               \
  } while (false)

#define CUBBY_CONCAT_INNER(a, b) a##b
#define CUBBY_CONCAT(a, b) CUBBY_CONCAT_INNER(a, b)

// CUBBY_ASSIGN_OR_RETURN(auto x, F()): x is the value, or the status is returned.
#define CUBBY_ASSIGN_OR_RETURN(lhs, expr) \
  CUBBY_ASSIGN_OR_RETURN_IMPL(CUBBY_CONCAT(cubby_or_, __LINE__), lhs, expr)
#define CUBBY_ASSIGN_OR_RETURN_IMPL(temp, lhs, expr) \
  auto temp = (expr);                                \
  if (!temp.ok()) return std::move(temp).status();   \
  lhs = std::move(temp).value()

#endif  // CUBBY_BASE_STATUS_MACROS_H_
