#include "cubby/sandbox.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/sandbox/utf8.h"

namespace cubby {

absl::StatusOr<FileContent> Sandbox::ReadText(absl::string_view path, const ReadOptions& options,
                                              Decoding decoding) {
  CUBBY_ASSIGN_OR_RETURN(FileContent content, ReadFile(path, options));
  const size_t valid = ValidUtf8Prefix(content.bytes);
  if (valid == content.bytes.size()) return content;
  if (decoding == Decoding::kStrict) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     absl::StrCat("read ", path, ": not UTF-8 text (byte ", valid,
                                  " of what was read); read it as bytes or ask for lossy text"),
                     {.path = std::string(path)});
  }
  content.bytes = MendUtf8(content.bytes);
  return content;
}

absl::StatusOr<std::string> Sandbox::DownloadFile(absl::string_view path,
                                                  const DownloadOptions& options) {
  CUBBY_ASSIGN_OR_RETURN(const std::string normal, NormalizePath(path));
  if (!IsWithin(normal, kUserData)) {
    return MakeError(
        absl::StatusCode::kPermissionDenied,
        absl::StrCat("download ", path, ": only files below ", kUserData, " can be downloaded"),
        {.path = std::string(path)});
  }
  CUBBY_ASSIGN_OR_RETURN(FileContent content,
                         ReadFile(normal, {.limit_bytes = options.limit_bytes}));
  return std::move(content.bytes);
}

}  // namespace cubby
