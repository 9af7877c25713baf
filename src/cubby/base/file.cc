#include "cubby/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cubby/base/ids.h"
#include "cubby/base/log.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {
namespace {

struct DirCloser {
  void operator()(DIR* dir) const { closedir(dir); }
};
using UniqueDir = std::unique_ptr<DIR, DirCloser>;

bool IsDots(const char* name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

absl::Status RemoveAt(int parent, const char* name, dev_t device, const std::string& shown) {
  if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return absl::OkStatus();
  if (errno != EISDIR && errno != EPERM) return ErrnoError(errno, "unlink", shown);
  unique_fd fd(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return errno == ENOENT ? absl::OkStatus() : ErrnoError(errno, "open", shown);
  struct stat st {};
  if (fstat(fd.get(), &st) != 0) return ErrnoError(errno, "stat", shown);
  if (st.st_dev != device) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("remove ", shown, ": something is mounted there"),
                     {.path = shown});
  }
  const int dir_fd = fd.get();
  UniqueDir dir(fdopendir(fd.release()));
  if (dir == nullptr) return ErrnoError(errno, "opendir", shown);
  while (const dirent* entry = readdir(dir.get())) {
    if (IsDots(entry->d_name)) continue;
    CUBBY_RETURN_IF_ERROR(RemoveAt(dir_fd, entry->d_name, device, JoinPath(shown, entry->d_name)));
  }
  if (unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return ErrnoError(errno, "rmdir", shown);
  }
  return absl::OkStatus();
}

enum class Sync { kNo, kYes };

absl::Status Replace(const std::string& path, absl::string_view content, mode_t mode, Sync sync) {
  const std::string temporary = absl::StrCat(path, ".", RandomHex(6), ".tmp");
  unique_fd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd.valid()) return ErrnoError(errno, "create", temporary);
  absl::Status status = WriteAll(fd.get(), content);
  if (status.ok() && sync == Sync::kYes && fdatasync(fd.get()) != 0) {
    status = ErrnoError(errno, "sync", temporary);
  }
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoError(errno, "rename", path);
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

absl::Status LockWaiting(int fd, int operation, const std::string& path) {
  while (flock(fd, operation) != 0) {
    if (errno != EINTR) return ErrnoError(errno, "lock", path);
  }
  return absl::OkStatus();
}

absl::StatusOr<unique_fd> OpenLockFile(const std::string& path) {
  unique_fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoError(errno, "open", path);
  return fd;
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t max_bytes) {
  unique_fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, "open", path);
  std::string content;
  char buffer[16384];
  while (true) {
    const ssize_t n = read(fd.get(), buffer, sizeof(buffer));
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoError(errno, "read", path);
    }
    if (n == 0) return content;
    content.append(buffer, static_cast<size_t>(n));
    if (content.size() > max_bytes) {
      return MakeError(absl::StatusCode::kResourceExhausted,
                       absl::StrCat("read ", path, ": more than ", max_bytes, " bytes"),
                       {.path = path});
    }
  }
}

absl::Status WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoError(errno, "write");
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content, mode_t mode) {
  return Replace(path, content, mode, Sync::kYes);
}

absl::Status ReplaceFile(const std::string& path, absl::string_view content, mode_t mode) {
  return Replace(path, content, mode, Sync::kNo);
}

absl::Status CopyFile(const std::string& from, const std::string& to, mode_t mode) {
  unique_fd input(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!input.valid()) return ErrnoError(errno, "open", from);
  unique_fd output(open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (!output.valid()) return ErrnoError(errno, "create", to);
  std::string buffer;
  while (true) {
    constexpr size_t kPieceBytes = 1 << 30;
    ssize_t n = -1;
    if (buffer.empty()) {
      n = copy_file_range(input.get(), nullptr, output.get(), nullptr, kPieceBytes, 0);
      if (n > 0 || (n < 0 && errno == EINTR)) continue;
      if (n == 0) return absl::OkStatus();
      if (errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP) {
        return ErrnoError(errno, "copy", from);
      }
      buffer.resize(256 << 10);  // between file systems that cannot: by hand
    }
    n = read(input.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(errno, "read", from);
    if (n == 0) return absl::OkStatus();
    CUBBY_RETURN_IF_ERROR(WriteAll(output.get(), {buffer.data(), static_cast<size_t>(n)}));
  }
}

absl::Status WriteExisting(const std::string& path, absl::string_view content) {
  unique_fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, "open", path);
  if (absl::Status status = WriteAll(fd.get(), content); !status.ok()) {
    return ErrnoError(GetErrorDetail(status).error_number, "write", path);
  }
  return absl::OkStatus();
}

absl::Status MakeDirectories(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) == 0) return absl::OkStatus();
  if (errno == ENOENT) {
    CUBBY_RETURN_IF_ERROR(MakeDirectories(std::string(Dirname(path)), mode));
    if (mkdir(path.c_str(), mode) == 0) return absl::OkStatus();
  }
  if (errno != EEXIST) return ErrnoError(errno, "mkdir", path);
  struct stat st {};
  if (stat(path.c_str(), &st) != 0) return ErrnoError(errno, "stat", path);
  return S_ISDIR(st.st_mode) ? absl::OkStatus() : ErrnoError(ENOTDIR, "mkdir", path);
}

absl::Status RemoveTree(const std::string& path) {
  struct stat st {};
  if (lstat(path.c_str(), &st) != 0) {
    return errno == ENOENT ? absl::OkStatus() : ErrnoError(errno, "stat", path);
  }
  return RemoveAt(AT_FDCWD, path.c_str(), st.st_dev, path);
}

absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path) {
  UniqueDir dir(opendir(path.c_str()));
  if (dir == nullptr) return ErrnoError(errno, "opendir", path);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(dir.get())) {
    if (!IsDots(entry->d_name)) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool FileExists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

absl::StatusOr<TemporaryDirectory> TemporaryDirectory::Create(const std::string& parent,
                                                              absl::string_view prefix) {
  std::string path = absl::StrCat(parent, "/", prefix, "XXXXXX");
  if (mkdtemp(path.data()) == nullptr) return ErrnoError(errno, "mkdtemp", path);
  return TemporaryDirectory(std::move(path));
}

TemporaryDirectory::~TemporaryDirectory() {
  if (path_.empty()) return;
  if (absl::Status status = RemoveTree(path_); !status.ok()) {
    Log(Severity::kWarning, absl::StrCat("temporary folder left behind: ", status.message()));
  }
}

absl::StatusOr<FileLock> FileLock::Acquire(const std::string& path) {
  CUBBY_ASSIGN_OR_RETURN(unique_fd fd, OpenLockFile(path));
  CUBBY_RETURN_IF_ERROR(LockWaiting(fd.get(), LOCK_EX, path));
  return FileLock(std::move(fd));
}

absl::StatusOr<FileLock> FileLock::AcquireShared(const std::string& path) {
  CUBBY_ASSIGN_OR_RETURN(unique_fd fd, OpenLockFile(path));
  CUBBY_RETURN_IF_ERROR(LockWaiting(fd.get(), LOCK_SH, path));
  return FileLock(std::move(fd));
}

absl::StatusOr<FileLock> FileLock::AcquireDirectory(const std::string& path) {
  unique_fd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, "open", path);
  CUBBY_RETURN_IF_ERROR(LockWaiting(fd.get(), LOCK_EX, path));
  return FileLock(std::move(fd));
}

absl::StatusOr<FileLock> FileLock::TryAcquire(const std::string& path) {
  CUBBY_ASSIGN_OR_RETURN(unique_fd fd, OpenLockFile(path));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoError(errno, "lock", path);
    return MakeError(absl::StatusCode::kUnavailable,
                     absl::StrCat("lock ", path, ": held by another process"),
                     {.error_number = EWOULDBLOCK, .path = path, .fate = Fate::kRetryable});
  }
  return FileLock(std::move(fd));
}

}  // namespace cubby
