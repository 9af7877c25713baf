#include "cubby/sandbox.h"
namespace cubby {
absl::StatusOr<std::string> Sandbox::DownloadFile(absl::string_view, const DownloadOptions&) {
  return absl::UnimplementedError("interim");
}
}  // namespace cubby
