#include "cubby/base/host_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/base/file.h"
#include "cubby/base/file_mode.h"
#include "cubby/base/ids.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {
namespace {

absl::Status CheckName(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    return MakeError(absl::StatusCode::kPermissionDenied,
                     absl::StrCat("'", name, "' is not a name for a file; it was refused"));
  }
  return absl::OkStatus();
}

absl::Status SymlinkInTheWay(const std::string& path) {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   absl::StrCat("a symlink stands in the way of ", path,
                                "; it is not followed, remove it first"),
                   {.error_number = ELOOP, .path = path});
}

// Removes a half-written file unless it has been renamed to its place.
class HalfWritten {
 public:
  HalfWritten(int folder, std::string name) : folder_(folder), name_(std::move(name)) {}
  HalfWritten(const HalfWritten&) = delete;
  HalfWritten& operator=(const HalfWritten&) = delete;
  ~HalfWritten() {
    if (!name_.empty()) unlinkat(folder_, name_.c_str(), 0);
  }
  void Placed() { name_.clear(); }

 private:
  int folder_;
  std::string name_;
};

}  // namespace

absl::StatusOr<HostTree> HostTree::Open(const std::string& path) {
  unique_fd root(::open(path.empty() ? "." : path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return ErrnoError(errno, "open", path);
  return HostTree(path, std::move(root));
}

absl::StatusOr<HostTree> HostTree::Below(const std::string& path) const {
  CUBBY_ASSIGN_OR_RETURN(unique_fd root, OpenBeneath(path, O_PATH | O_DIRECTORY));
  return HostTree(Shown(path), std::move(root));
}

std::string HostTree::Shown(const std::string& path) const {
  if (name_.empty() || path.empty()) return name_.empty() ? path : name_;
  return absl::StrCat(name_, absl::EndsWith(name_, "/") ? "" : "/", path);
}

absl::StatusOr<unique_fd> HostTree::OpenBeneath(const std::string& path, int flags) const {
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const std::string relative = path.empty() ? "." : path;
  unique_fd fd(
      static_cast<int>(syscall(SYS_openat2, root_.get(), relative.c_str(), &how, sizeof(how))));
  if (fd.valid()) return fd;
  if (errno == ELOOP) return SymlinkInTheWay(Shown(path));
  return ErrnoError(errno, "open", Shown(path));
}

absl::StatusOr<HostTree::Place> HostTree::Find(const std::string& path) const {
  const size_t slash = path.rfind('/');
  Place place;
  place.name = slash == std::string::npos ? path : path.substr(slash + 1);
  CUBBY_RETURN_IF_ERROR(CheckName(place.name));
  CUBBY_ASSIGN_OR_RETURN(
      place.folder,
      OpenBeneath(slash == std::string::npos ? "" : path.substr(0, slash), O_RDONLY | O_DIRECTORY));
  return place;
}

absl::StatusOr<FileInfo> HostTree::Stat(const std::string& path) const {
  struct stat status = {};
  FileInfo info{.path = path};
  if (path.empty()) {
    if (fstat(root_.get(), &status) != 0) return ErrnoError(errno, "stat", Shown(path));
  } else {
    CUBBY_ASSIGN_OR_RETURN(const Place place, Find(path));
    if (fstatat(place.folder.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return ErrnoError(errno, "stat", Shown(path));
    }
    if (S_ISLNK(status.st_mode)) {
      char target[PATH_MAX];
      const ssize_t length =
          readlinkat(place.folder.get(), place.name.c_str(), target, sizeof(target));
      if (length < 0) return ErrnoError(errno, "read the link", Shown(path));
      info.link_target.assign(target, static_cast<size_t>(length));
    }
  }
  info.type = FileTypeOf(status.st_mode);
  info.size_bytes = status.st_size;
  info.mode = status.st_mode & 07777;
  return info;
}

absl::StatusOr<std::vector<std::string>> HostTree::List(const std::string& path) const {
  CUBBY_ASSIGN_OR_RETURN(unique_fd folder, OpenBeneath(path, O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, void (*)(DIR*)> stream(fdopendir(folder.get()),
                                                    [](DIR* open) { closedir(open); });
  if (stream == nullptr) return ErrnoError(errno, "list", Shown(path));
  [[maybe_unused]] const int owned_by_stream = folder.release();
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* const entry = readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    errno = 0;
  }
  if (errno != 0) return ErrnoError(errno, "list", Shown(path));
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<unique_fd> HostTree::OpenToRead(const std::string& path) const {
  // Without O_NONBLOCK, a FIFO put in the place of a file would be waited for.
  CUBBY_ASSIGN_OR_RETURN(unique_fd fd, OpenBeneath(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat status = {};
  if (fstat(fd.get(), &status) != 0) return ErrnoError(errno, "stat", Shown(path));
  if (!S_ISREG(status.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(Shown(path), " is not a file"));
  }
  return fd;
}

absl::Status HostTree::MakeDirectory(const std::string& path) const {
  CUBBY_ASSIGN_OR_RETURN(const Place place, Find(path));
  if (mkdirat(place.folder.get(), place.name.c_str(), 0700) == 0) return absl::OkStatus();
  if (errno != EEXIST) return ErrnoError(errno, "make the folder", Shown(path));
  struct stat status = {};
  if (fstatat(place.folder.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return ErrnoError(errno, "stat", Shown(path));
  }
  if (S_ISLNK(status.st_mode)) return SymlinkInTheWay(Shown(path));
  if (!S_ISDIR(status.st_mode)) return ErrnoError(ENOTDIR, "make the folder", Shown(path));
  return absl::OkStatus();
}

absl::Status HostTree::SetDirectoryMode(const std::string& path, uint32_t mode) const {
  CUBBY_ASSIGN_OR_RETURN(const unique_fd folder, OpenBeneath(path, O_RDONLY | O_DIRECTORY));
  if (fchmod(folder.get(), mode & 0777) != 0) return ErrnoError(errno, "chmod", Shown(path));
  return absl::OkStatus();
}

absl::Status HostTree::WriteFile(const std::string& path, uint32_t mode,
                                 const std::function<absl::Status(const ByteSink&)>& fill) const {
  CUBBY_ASSIGN_OR_RETURN(const Place place, Find(path));
  const std::string temporary = absl::StrCat(".cubby-", RandomHex(8));
  const unique_fd file(openat(place.folder.get(), temporary.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoError(errno, "create", Shown(path));
  HalfWritten half(place.folder.get(), temporary);
  CUBBY_RETURN_IF_ERROR(fill(
      [&](absl::string_view bytes) { return Annotate(WriteAll(file.get(), bytes), Shown(path)); }));
  // Not setuid, setgid or sticky: what these grant, a sandbox must not grant here.
  if (fchmod(file.get(), mode & 0777) != 0) return ErrnoError(errno, "chmod", Shown(path));
  if (renameat(place.folder.get(), temporary.c_str(), place.folder.get(), place.name.c_str()) !=
      0) {
    return ErrnoError(errno, "write", Shown(path));
  }
  half.Placed();
  return absl::OkStatus();
}

absl::Status HostTree::MakeSymlink(const std::string& path, const std::string& target) const {
  if (!StaysBelow(path, target)) {
    return MakeError(absl::StatusCode::kPermissionDenied,
                     absl::StrCat("the symlink ", Shown(path), " points to '", target,
                                  "', which could lead out of the copy"),
                     {.path = Shown(path)});
  }
  CUBBY_ASSIGN_OR_RETURN(const Place place, Find(path));
  const std::string temporary = absl::StrCat(".cubby-", RandomHex(8));
  if (symlinkat(target.c_str(), place.folder.get(), temporary.c_str()) != 0) {
    return ErrnoError(errno, "make the symlink", Shown(path));
  }
  HalfWritten half(place.folder.get(), temporary);
  if (renameat(place.folder.get(), temporary.c_str(), place.folder.get(), place.name.c_str()) !=
      0) {
    return ErrnoError(errno, "make the symlink", Shown(path));
  }
  half.Placed();
  return absl::OkStatus();
}

bool StaysBelow(const std::string& path, const std::string& target) {
  if (target.empty() || target[0] == '/' || target.find('\0') != std::string::npos) return false;
  auto above = std::count(path.begin(), path.end(), '/');
  bool leading = true;
  for (absl::string_view part : absl::StrSplit(target, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      leading = false;
    } else if (!leading || --above < 0) {
      return false;
    }
  }
  return true;
}

}  // namespace cubby
