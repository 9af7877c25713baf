#include "cubby/search/search_root.h"

#include <errno.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/file_mode.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby::search {
namespace {

int OpenAt2(int base, const char* path, int flags, uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<__u64>(flags);
  how.resolve = resolve;
  long fd;
  do {
    fd = syscall(SYS_openat2, base, path, &how, sizeof(how));
  } while (fd < 0 && errno == EAGAIN);  // a rename raced with the resolution
  return fd < 0 ? -errno : static_cast<int>(fd);
}

constexpr uint64_t kFollowInside = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
constexpr uint64_t kFollowNothing = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;

}  // namespace

absl::StatusOr<SearchRoot> SearchRoot::Open(int base, absl::string_view path,
                                            absl::string_view shown) {
  if (path.find('\0') != absl::string_view::npos) {
    return absl::InvalidArgumentError("path: must not contain a NUL byte");
  }
  const std::string shown_path(shown);
  const std::string named = path.empty() ? "." : std::string(path);
  // O_PATH first: opening for reading would hang on a FIFO and may move a device.
  int fd = OpenAt2(base, named.c_str(), O_PATH | O_CLOEXEC, kFollowInside);
  if (fd < 0) return ErrnoError(-fd, "open", shown_path);
  SearchRoot root;
  root.fd_.reset(fd);
  root.shown_ = shown_path;
  struct stat st {};
  if (fstat(fd, &st) != 0) return ErrnoError(errno, "stat", shown_path);
  root.type_ = FileTypeOf(st.st_mode);
  root.device_ = st.st_dev;
  root.inode_ = st.st_ino;
  if (root.type_ == FileType::kDirectory) {
    fd = openat(root.fd_.get(), ".", kOpenFolder);
    if (fd < 0) return ErrnoError(errno, "open", shown_path);
    root.fd_.reset(fd);
  } else if (root.type_ == FileType::kFile) {
    fd = OpenAt2(base, named.c_str(), kOpenFile & ~O_NOFOLLOW, kFollowInside);
    if (fd < 0) return ErrnoError(-fd, "open", shown_path);
    root.file_.reset(fd);
  }
  return root;
}

absl::Status SearchRoot::RequireFolder() const {
  if (type_ == FileType::kDirectory) return absl::OkStatus();
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   absl::StrCat("search ", shown_, ": not a directory; name its folder"),
                   {.error_number = ENOTDIR, .path = shown_});
}

std::string SearchRoot::Shown(absl::string_view relative) const {
  return relative.empty() ? shown_ : JoinPath(shown_, relative);
}

int SearchRoot::OpenBelow(const std::string& relative, int flags) const {
  return OpenAt2(fd_.get(), relative.c_str(), flags, kFollowNothing);
}

}  // namespace cubby::search
