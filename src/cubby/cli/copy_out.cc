#include <errno.h>
#include <sys/stat.h>

#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cubby/base/host_tree.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/copy.h"

namespace cubby::cli {
namespace {

constexpr int64_t kMaxEntriesPerFolder = 200000;

class Copier {
 public:
  Copier(Sandbox& sandbox, const HostTree& tree, const Cancelled& cancelled, CopyReport* report)
      : sandbox_(sandbox), tree_(tree), cancelled_(cancelled), report_(report) {}

  absl::Status File(const std::string& source, uint32_t mode, const std::string& target) {
    CUBBY_RETURN_IF_ERROR(tree_.WriteFile(target, mode, [&](const ByteSink& write) {
      const ReadOptions whole{.limit_bytes = std::numeric_limits<int64_t>::max()};
      return sandbox_
          .ReadFileTo(source, whole,
                      [&](absl::string_view bytes) -> absl::Status {
                        if (cancelled_()) return absl::CancelledError("the copy was interrupted");
                        report_->bytes += static_cast<int64_t>(bytes.size());
                        return write(bytes);
                      })
          .status();
    }));
    ++report_->files;
    return absl::OkStatus();
  }

  // `target` empty: into the tree's own folder, whose mode stays.
  absl::Status Folder(const std::string& source, uint32_t mode, const std::string& target) {
    if (!target.empty()) CUBBY_RETURN_IF_ERROR(tree_.MakeDirectory(target));
    ++report_->directories;
    CUBBY_ASSIGN_OR_RETURN(const DirectoryListing listing,
                           sandbox_.ListDir(source, {.max_depth = 1,
                                                     .max_results = kMaxEntriesPerFolder,
                                                     .ignore = {.defaults = false}}));
    if (listing.summary.truncated()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the folder ", source, " has more than ", kMaxEntriesPerFolder,
                       " entries or could not be read whole; copy its parts one by one"));
    }
    for (const FileInfo& entry : listing.entries) {
      if (cancelled_()) return absl::CancelledError("the copy was interrupted");
      CUBBY_RETURN_IF_ERROR(Entry(source, entry, target));
    }
    // Only now: a folder without write permission could not have been filled.
    if (!target.empty()) CUBBY_RETURN_IF_ERROR(tree_.SetDirectoryMode(target, mode));
    return absl::OkStatus();
  }

 private:
  absl::Status Entry(const std::string& folder, const FileInfo& entry, const std::string& target) {
    const std::string name(Basename(entry.path));
    // The tree refuses names that are not names; here it is seen that the entry is where it says.
    if (JoinPath(folder, name) != entry.path) {
      return MakeError(absl::StatusCode::kPermissionDenied,
                       absl::StrCat("the sandbox lists '", entry.path, "' as an entry of '", folder,
                                    "'; it was refused"),
                       {.path = entry.path});
    }
    const std::string below = target.empty() ? name : absl::StrCat(target, "/", name);
    switch (entry.type) {
      case FileType::kFile:
        return File(entry.path, entry.mode, below);
      case FileType::kDirectory:
        return Folder(entry.path, entry.mode, below);
      case FileType::kSymlink: {
        const absl::Status made = tree_.MakeSymlink(below, entry.link_target);
        if (made.ok()) {
          ++report_->symlinks;
        } else if (absl::IsPermissionDenied(made)) {
          report_->Skip(entry.path, made.message());
        } else {
          return made;
        }
        return absl::OkStatus();
      }
      default:
        report_->Skip(entry.path, absl::StrCat("is a ", FileTypeName(entry.type)));
        return absl::OkStatus();
    }
  }

  Sandbox& sandbox_;
  const HostTree& tree_;
  const Cancelled& cancelled_;
  CopyReport* report_;
};

// Where a copy goes: a folder of this machine, and a name in it (empty: the folder itself).
struct Target {
  std::string folder;
  std::string name;
};

absl::StatusOr<Target> TargetOf(const std::string& destination, bool source_is_folder,
                                const std::string& source_name) {
  struct stat status = {};
  const bool exists = ::stat(destination.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) return ErrnoError(errno, "stat", destination);
  if (exists && S_ISDIR(status.st_mode)) return Target{.folder = destination, .name = source_name};
  if (source_is_folder && exists) {
    return absl::FailedPreconditionError(
        absl::StrCat(destination, " is not a folder, and a folder is to be copied"));
  }
  std::string path = destination;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (path.size() != destination.size() && !source_is_folder) {
    return MakeError(absl::StatusCode::kNotFound, absl::StrCat("there is no folder ", destination),
                     {.path = destination});
  }
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return Target{.folder = ".", .name = path};
  return Target{.folder = slash == 0 ? "/" : path.substr(0, slash), .name = path.substr(slash + 1)};
}

}  // namespace

absl::Status CopyOut(Sandbox& sandbox, const std::string& source,
                     const std::string& host_destination, const Cancelled& cancelled,
                     CopyReport* report) {
  CUBBY_ASSIGN_OR_RETURN(const std::string path, NormalizePath(source));
  CUBBY_ASSIGN_OR_RETURN(const FileInfo info, sandbox.Stat(path));
  CUBBY_ASSIGN_OR_RETURN(const bool is_folder, IsFolderInSandbox(sandbox, path));
  if (!is_folder && info.type != FileType::kFile && info.type != FileType::kSymlink) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is a ", FileTypeName(info.type),
                                                      "; only files and folders can be copied"));
  }
  const bool content = MeansContent(source) || path == "/";
  if (content && !is_folder) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is not a folder"));
  }
  CUBBY_ASSIGN_OR_RETURN(Target target, TargetOf(host_destination, is_folder,
                                                 content ? "" : std::string(Basename(path))));
  CUBBY_ASSIGN_OR_RETURN(const HostTree tree, HostTree::Open(target.folder));
  Copier copier(sandbox, tree, cancelled, report);
  // A symlink's own mode says nothing about what it points to.
  const bool link = info.type == FileType::kSymlink;
  if (!is_folder) return copier.File(path, link ? 0644 : info.mode, target.name);
  if (content) return copier.Folder(path, 0, "");
  // Nothing below may be led out of the copy itself, so it becomes the tree.
  CUBBY_RETURN_IF_ERROR(tree.MakeDirectory(target.name));
  CUBBY_ASSIGN_OR_RETURN(const HostTree copy, tree.Below(target.name));
  CUBBY_RETURN_IF_ERROR(Copier(sandbox, copy, cancelled, report).Folder(path, 0, ""));
  return copy.SetDirectoryMode("", link ? 0755 : info.mode);
}

}  // namespace cubby::cli
