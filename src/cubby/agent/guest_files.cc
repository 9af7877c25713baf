#include "cubby/agent/guest_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby::agent {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel
constexpr size_t kMaxSmallFile = 1 << 20;

// RESOLVE_IN_ROOT takes absolute symlinks and `..` as seen from the root. `path` may hold `..`
// here: link targets do.
unique_fd OpenInRoot(int root, const char* path, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<__u64>(flags) | O_CLOEXEC;
  how.mode = mode;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  long fd;
  do {
    fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
  } while (fd < 0 && errno == EAGAIN);  // a rename raced with the resolution
  return unique_fd(static_cast<int>(fd));
}

}  // namespace

absl::StatusOr<GuestFiles> GuestFiles::Open(const std::string& root) {
  unique_fd fd(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, "open", root);
  if (!OpenInRoot(fd.get(), ".", O_PATH, 0).valid()) return ErrnoError(errno, "openat2", root);
  return GuestFiles(std::move(fd));
}

absl::StatusOr<unique_fd> GuestFiles::OpenAt(const std::string& path, int flags,
                                             mode_t mode) const {
  unique_fd fd = OpenInRoot(root_.get(), path.c_str(), flags, mode);
  if (!fd.valid()) return ErrnoError(errno, "open", path);
  return fd;
}

absl::StatusOr<unique_fd> GuestFiles::MakeDirectories(const std::string& path,
                                                      const Owner& owner) const {
  unique_fd fd = OpenInRoot(root_.get(), path.c_str(), O_PATH | O_DIRECTORY, 0);
  if (fd.valid()) return fd;
  if (errno != ENOENT || path == "/") return ErrnoError(errno, "open", path);
  CUBBY_ASSIGN_OR_RETURN(const unique_fd parent,
                         MakeDirectories(std::string(Dirname(path)), owner));
  const std::string name(Basename(path));
  if (mkdirat(parent.get(), name.c_str(), 0755) == 0) {
    if (fchownat(parent.get(), name.c_str(), owner.uid, owner.gid, AT_SYMLINK_NOFOLLOW) != 0) {
      return ErrnoError(errno, "chown", path);
    }
  } else if (errno != EEXIST) {
    return ErrnoError(errno, "mkdir", path);
  }
  fd = OpenInRoot(root_.get(), path.c_str(), O_PATH | O_DIRECTORY, 0);
  if (!fd.valid()) return ErrnoError(errno, "open", path);
  return fd;
}

absl::StatusOr<GuestFiles::Entry> GuestFiles::Locate(const std::string& path, LastLink last,
                                                     Parents parents, const Owner& owner) const {
  return LocateDepth(path, last, parents, owner, 0);
}

absl::StatusOr<GuestFiles::Entry> GuestFiles::LocateDepth(const std::string& path, LastLink last,
                                                          Parents parents, const Owner& owner,
                                                          int depth) const {
  if (path == "/") return ErrnoError(EISDIR, "open", path);
  if (depth > kMaxLinks) return ErrnoError(ELOOP, "open", path);
  const std::string parent_path(Dirname(path));
  Entry entry{.directory = unique_fd(), .name = std::string(Basename(path))};
  if (parents == Parents::kCreate) {
    CUBBY_ASSIGN_OR_RETURN(entry.directory, MakeDirectories(parent_path, owner));
  } else {
    CUBBY_ASSIGN_OR_RETURN(entry.directory, OpenAt(parent_path, O_PATH | O_DIRECTORY));
  }
  if (last == LastLink::kKeep) return entry;
  char target[PATH_MAX];
  const ssize_t n = readlinkat(entry.directory.get(), entry.name.c_str(), target, sizeof(target));
  if (n < 0) return entry;  // not a symlink, or not there
  absl::string_view link(target, static_cast<size_t>(n));
  // `..` in a link is relative to where the link really is, and the parent path may hold links
  // itself; the kernel resolves the joined path, with `..`, when it is opened.
  return LocateDepth(link[0] == '/' ? std::string(link) : JoinPath(parent_path, link), last,
                     parents, owner, depth + 1);
}

absl::StatusOr<std::string> GuestFiles::ReadSmall(const std::string& path) const {
  CUBBY_ASSIGN_OR_RETURN(const unique_fd fd, OpenAt(path, O_RDONLY | O_NONBLOCK));
  std::string content;
  char buffer[4096];
  while (true) {
    const ssize_t n = read(fd.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(errno, "read", path);
    if (n == 0) return content;
    content.append(buffer, static_cast<size_t>(n));
    if (content.size() > kMaxSmallFile) {
      return MakeError(absl::StatusCode::kResourceExhausted, "read " + path + ": too large",
                       {.path = path});
    }
  }
}

}  // namespace cubby::agent
