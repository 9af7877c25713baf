#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "cubby/agent/files.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby::agent {
namespace {

constexpr size_t kReadBytes = 128 << 10;

// Which bytes of a file a request wants, found while they pass.
class LineRange {
 public:
  explicit LineRange(const wire::ReadFile& request)
      : first_(std::max<uint64_t>(request.start_line(), 1)),
        last_(request.end_line() != 0 ? request.end_line() : std::numeric_limits<uint64_t>::max()) {
  }

  // The part of `bytes`, the next of the file, that is in the range.
  absl::string_view Select(absl::string_view bytes) {
    size_t begin = 0;
    while (line_ < first_) {
      const void* feed = memchr(bytes.data() + begin, '\n', bytes.size() - begin);
      if (feed == nullptr) return {};
      begin = static_cast<size_t>(static_cast<const char*>(feed) - bytes.data()) + 1;
      ++line_;
    }
    size_t end = begin;
    while (end < bytes.size() && line_ <= last_) {
      in_line_ = true;
      const void* feed = memchr(bytes.data() + end, '\n', bytes.size() - end);
      if (feed == nullptr) {
        end = bytes.size();
        break;
      }
      end = static_cast<size_t>(static_cast<const char*>(feed) - bytes.data()) + 1;
      ++line_;
      ++lines_;
      in_line_ = false;
    }
    unselected_ = bytes.size() - end;
    return bytes.substr(begin, end - begin);
  }

  [[nodiscard]] bool done() const { return line_ > last_; }
  // Bytes of the last piece that came after the range.
  [[nodiscard]] size_t unselected() const { return unselected_; }
  // A last line without its LF counts.
  [[nodiscard]] uint64_t lines() const { return lines_ + (in_line_ ? 1 : 0); }

 private:
  const uint64_t first_;
  const uint64_t last_;
  uint64_t line_ = 1;  // that the next byte belongs to
  uint64_t lines_ = 0;
  bool in_line_ = false;
  size_t unselected_ = 0;
};

absl::Status CheckReadable(int fd, const std::string& path, struct stat* st) {
  if (fstat(fd, st) != 0) return ErrnoError(errno, "stat", path);
  if (S_ISDIR(st->st_mode)) return ErrnoError(EISDIR, "read", path);
  if (!S_ISREG(st->st_mode)) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("read ", path, ": not a regular file"), {.path = path});
  }
  return absl::OkStatus();
}

}  // namespace

Task<absl::Status> Files::Read(StreamPtr stream, wire::ReadFile request) {
  absl::StatusOr<std::string> path = NormalizePath(request.path(), settings_->working_directory);
  if (!path.ok()) co_return path.status();
  // O_NONBLOCK: a FIFO must not hold the agent until somebody writes it.
  absl::StatusOr<unique_fd> fd = files_->OpenAt(*path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd.ok()) co_return fd.status();
  struct stat st {};
  if (absl::Status status = CheckReadable(fd->get(), *path, &st); !status.ok()) co_return status;
  if (request.offset() > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) {
    co_return absl::InvalidArgumentError("read: offset out of range");
  }
  if (request.offset() != 0 &&
      lseek(fd->get(), static_cast<off_t>(request.offset()), SEEK_SET) < 0) {
    co_return ErrnoError(errno, "seek", *path);
  }
  wire::Event opened;
  opened.mutable_file_opened()->set_size(static_cast<uint64_t>(st.st_size));
  stream->SendEvent(opened);

  LineRange range(request);
  uint64_t left = request.has_length() ? request.length() : std::numeric_limits<uint64_t>::max();
  bool end_of_file = false;
  std::string buffer(std::min<size_t>(kReadBytes, static_cast<size_t>(st.st_size) + 4096), '\0');
  while (left > 0 && !range.done()) {
    while (stream->open() && stream->Credit() == 0) co_await stream->waker.Wait();
    if (!stream->open()) co_return stream->status();
    const size_t size =
        std::min({buffer.size(), static_cast<size_t>(stream->Credit()), static_cast<size_t>(left)});
    const ssize_t n = read(fd->get(), buffer.data(), size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) co_return ErrnoError(errno, "read", *path);
    if (n == 0) {
      end_of_file = true;
      break;
    }
    left -= static_cast<uint64_t>(n);
    const absl::string_view selected = range.Select({buffer.data(), static_cast<size_t>(n)});
    if (!selected.empty()) stream->SendData(0, selected);
    co_await stream->waker.Yield();
  }
  if (!end_of_file && range.unselected() == 0) {
    // The range is full; it reaches the end when no byte follows.
    char next;
    const off_t at = lseek(fd->get(), 0, SEEK_CUR);
    end_of_file = pread(fd->get(), &next, 1, at) == 0;
  }
  while (stream->open() && stream->Credit() == 0) co_await stream->waker.Wait();
  wire::Event done;
  done.mutable_read_done()->set_lines(range.lines());
  done.mutable_read_done()->set_end_of_file(end_of_file);
  stream->SendEvent(done);
  co_return absl::OkStatus();
}

}  // namespace cubby::agent
