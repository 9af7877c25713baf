#include "cubby/cli/copy.h"

#include <utility>

#include "absl/strings/match.h"
#include "cubby/base/status_macros.h"

namespace cubby::cli {

void CopyReport::Skip(std::string path, absl::string_view reason) {
  ++skipped_count;
  if (skipped.size() < kMaxSkipped) {
    skipped.push_back({.path = std::move(path), .reason = std::string(reason)});
  }
}

absl::StatusOr<bool> IsFolderInSandbox(Sandbox& sandbox, const std::string& path) {
  CUBBY_ASSIGN_OR_RETURN(const FileInfo info, sandbox.Stat(path));
  if (info.type != FileType::kSymlink) return info.type == FileType::kDirectory;
  // Stat is of the link itself; listing follows it.
  const absl::Status listed = sandbox.ListDir(path, {.max_depth = 1, .max_results = 1}).status();
  if (listed.ok()) return true;
  if (absl::IsFailedPrecondition(listed)) return false;
  return listed;
}

bool MeansContent(absl::string_view path) { return path == "." || absl::EndsWith(path, "/."); }

const char* FileTypeName(FileType type) {
  switch (type) {
    case FileType::kFile:
      return "file";
    case FileType::kDirectory:
      return "directory";
    case FileType::kSymlink:
      return "symlink";
    case FileType::kFifo:
      return "fifo";
    case FileType::kSocket:
      return "socket";
    case FileType::kCharDevice:
      return "char-device";
    case FileType::kBlockDevice:
      return "block-device";
  }
  return "file";
}

}  // namespace cubby::cli
