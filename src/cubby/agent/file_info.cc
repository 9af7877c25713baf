#include "cubby/agent/file_info.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cubby/status.h"

namespace cubby::agent {

void Describe(const struct stat& st, wire::File* file) {
  file->set_type(st.st_mode & S_IFMT);
  file->set_size(static_cast<uint64_t>(st.st_size));
  file->set_mode(st.st_mode & 07777);
  file->set_uid(st.st_uid);
  file->set_gid(st.st_gid);
  file->set_modified_ns(st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec);
}

absl::Status StatEntry(int directory, const std::string& name, const std::string& path,
                       wire::File* file) {
  struct stat st {};
  if (fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return ErrnoError(errno, "stat", path);
  }
  file->set_path(path);
  Describe(st, file);
  if (S_ISLNK(st.st_mode)) {
    char target[PATH_MAX];
    const ssize_t n = readlinkat(directory, name.c_str(), target, sizeof(target));
    if (n >= 0) file->set_link_target(target, static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace cubby::agent
