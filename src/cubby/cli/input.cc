#include "cubby/cli/input.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "cubby/base/status_macros.h"

namespace cubby::cli {

absl::StatusOr<int64_t> WriteFromInput(const Context& context, Sandbox& sandbox,
                                       const std::string& path, const WriteOptions& options) {
  int64_t total = 0;
  CUBBY_RETURN_IF_ERROR(sandbox.WriteFileFrom(
      path,
      [&](char* buffer, size_t size) -> absl::StatusOr<size_t> {
        while (true) {
          const ssize_t got = ::read(context.in(), buffer, size);
          if (got >= 0) {
            total += got;
            return static_cast<size_t>(got);
          }
          if (errno == EAGAIN) {
            pollfd readable{.fd = context.in(), .events = POLLIN};
            poll(&readable, 1, -1);
          } else if (errno != EINTR) {
            return ErrnoError(errno, "read standard input");
          }
        }
      },
      options));
  return total;
}

}  // namespace cubby::cli
