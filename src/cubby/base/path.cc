#include "cubby/base/path.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr size_t kMaxPathBytes = 4095;  // PATH_MAX without its NUL

absl::Status AppendSegments(absl::string_view path, absl::string_view original, std::string* out) {
  for (absl::string_view segment : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (segment == ".") continue;
    if (segment == "..") {
      return MakeError(absl::StatusCode::kPermissionDenied,
                       absl::StrCat("path ", original, ": a `..` segment is not allowed"),
                       {.path = std::string(original)});
    }
    absl::StrAppend(out, "/", segment);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> NormalizePath(absl::string_view path, absl::string_view base) {
  if (path.empty()) return absl::InvalidArgumentError("path: must not be empty");
  if (path.find('\0') != absl::string_view::npos) {
    return absl::InvalidArgumentError("path: must not contain a NUL byte");
  }
  std::string result;
  if (path[0] != '/') {
    if (absl::Status status = AppendSegments(base, base, &result); !status.ok()) return status;
  }
  if (absl::Status status = AppendSegments(path, path, &result); !status.ok()) return status;
  if (result.size() > kMaxPathBytes) {
    return absl::InvalidArgumentError(absl::StrCat("path: longer than ", kMaxPathBytes, " bytes"));
  }
  return result.empty() ? std::string("/") : result;
}

bool IsWithin(absl::string_view path, absl::string_view root) {
  if (root == "/") return !path.empty() && path[0] == '/';
  return path.substr(0, root.size()) == root &&
         (path.size() == root.size() || path[root.size()] == '/');
}

absl::string_view Basename(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

absl::string_view Dirname(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  return slash == 0 ? absl::string_view("/") : path.substr(0, slash);
}

std::string JoinPath(absl::string_view directory, absl::string_view name) {
  if (directory.empty()) return std::string(name);
  return absl::StrCat(directory, directory.back() == '/' ? "" : "/", name);
}

}  // namespace cubby
