#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/agent/files.h"
#include "cubby/base/ids.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby::agent {
namespace {

constexpr mode_t kNewFileMode = 0644;
constexpr uint32_t kUploadWindowBytes = 4 << 20;

absl::Status WriteAllTo(int fd, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(errno, "write", path);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

// Takes the stream's data into `fd` until the client has no more.
Task<absl::Status> TakeInput(StreamPtr stream, int fd, std::string path) {
  absl::Status written;
  const auto take = [&](absl::string_view bytes) {
    if (written.ok()) written = WriteAllTo(fd, bytes, path);
    if (!written.ok()) stream->waker.Wake();
  };
  stream->TakeDirectly(take);
  while (written.ok() && stream->open() && !stream->input_ended()) {
    if (stream->input().empty()) {
      co_await stream->waker.Wait();
      continue;
    }
    const absl::string_view bytes = stream->input();
    take(bytes);
    stream->Consume(bytes.size());
  }
  // What it captured ends here.
  stream->TakeDirectly(nullptr);
  co_return written.ok() ? stream->status() : written;
}

// A name that the ignore rules hide, so that listings never show half a file.
std::string TemporaryName() { return absl::StrCat(".upload-", RandomHex(8), ".part"); }

// Removes the temporary file unless it was renamed.
class TemporaryFile {
 public:
  TemporaryFile(int directory, std::string name) : directory_(directory), name_(std::move(name)) {}
  ~TemporaryFile() {
    if (!name_.empty()) unlinkat(directory_, name_.c_str(), 0);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& name() const { return name_; }
  void Keep() { name_.clear(); }

 private:
  int directory_;
  std::string name_;
};

}  // namespace

Task<absl::Status> Files::Write(StreamPtr stream, wire::WriteFile request) {
  absl::StatusOr<std::string> path = NormalizePath(request.path(), settings_->working_directory);
  if (!path.ok()) co_return path.status();
  request.set_path(*path);
  stream->WidenInput(kUploadWindowBytes - wire::kDefaultWindowBytes);
  if (request.append()) co_return co_await Append(std::move(stream), std::move(request));
  co_return co_await Replace(std::move(stream), std::move(request));
}

Task<absl::Status> Files::Append(StreamPtr stream, wire::WriteFile request) {
  const std::string path = request.path();
  absl::StatusOr<GuestFiles::Entry> entry = files_->Locate(
      path, GuestFiles::LastLink::kFollow, GuestFiles::Parents::kCreate, settings_->owner);
  if (!entry.ok()) co_return entry.status();
  const int directory = entry->directory.get();
  const char* name = entry->name.c_str();
  constexpr int kFlags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  unique_fd fd(openat(directory, name, kFlags));
  if (!fd.valid() && errno == ENOENT) {
    fd.reset(openat(directory, name, kFlags | O_CREAT | O_EXCL,
                    request.has_mode() ? request.mode() & 07777 : kNewFileMode));
    if (fd.valid() && fchown(fd.get(), settings_->owner.uid, settings_->owner.gid) != 0) {
      co_return ErrnoError(errno, "chown", path);
    }
    // Somebody else was faster: append to theirs.
    if (!fd.valid() && errno == EEXIST) fd.reset(openat(directory, name, kFlags));
  }
  if (!fd.valid()) co_return ErrnoError(errno, "open", path);
  struct stat st {};
  if (fstat(fd.get(), &st) != 0) co_return ErrnoError(errno, "stat", path);
  if (!S_ISREG(st.st_mode)) {
    co_return MakeError(absl::StatusCode::kFailedPrecondition,
                        absl::StrCat("append to ", path, ": not a regular file"), {.path = path});
  }
  co_return co_await TakeInput(std::move(stream), fd.get(), path);
}

Task<absl::Status> Files::Replace(StreamPtr stream, wire::WriteFile request) {
  const std::string path = request.path();
  absl::StatusOr<GuestFiles::Entry> entry = files_->Locate(
      path, GuestFiles::LastLink::kFollow, GuestFiles::Parents::kCreate, settings_->owner);
  if (!entry.ok()) co_return entry.status();
  const int directory = entry->directory.get();
  struct stat before {};
  const bool existed = fstatat(directory, entry->name.c_str(), &before, AT_SYMLINK_NOFOLLOW) == 0;
  if (existed && S_ISDIR(before.st_mode)) co_return ErrnoError(EISDIR, "write", path);
  if (existed && !S_ISREG(before.st_mode)) {
    co_return MakeError(absl::StatusCode::kFailedPrecondition,
                        absl::StrCat("write ", path, ": not a regular file"), {.path = path});
  }
  TemporaryFile temporary(directory, TemporaryName());
  unique_fd fd(openat(directory, temporary.name().c_str(),
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) co_return ErrnoError(errno, "create a file beside", path);
  if (absl::Status status = co_await TakeInput(stream, fd.get(), path); !status.ok()) {
    co_return status;
  }
  const uid_t uid = existed ? before.st_uid : settings_->owner.uid;
  const gid_t gid = existed ? before.st_gid : settings_->owner.gid;
  const mode_t mode = existed ? before.st_mode & 07777
                              : (request.has_mode() ? request.mode() & 07777 : kNewFileMode);
  // In this order: chown clears setuid bits.
  if (fchown(fd.get(), uid, gid) != 0) co_return ErrnoError(errno, "chown", path);
  if (fchmod(fd.get(), mode) != 0) co_return ErrnoError(errno, "chmod", path);
  if (renameat(directory, temporary.name().c_str(), directory, entry->name.c_str()) != 0) {
    co_return ErrnoError(errno, "rename to", path);
  }
  temporary.Keep();
  co_return absl::OkStatus();
}

}  // namespace cubby::agent
