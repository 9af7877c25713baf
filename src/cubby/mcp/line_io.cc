#include "cubby/mcp/line_io.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

namespace cubby::mcp {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr size_t kKeptBytes = 1 << 20;

}  // namespace

// False at the end.
bool LineReader::Fill() {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    begin_ = 0;
    // After one long line the memory is given back.
    if (buffer_.capacity() > kKeptBytes && buffer_.size() < kReadBytes) buffer_.shrink_to_fit();
  }
  while (true) {
    pollfd pollers[2] = {{.fd = fd_, .events = POLLIN}, {.fd = stop_, .events = POLLIN}};
    if (poll(pollers, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (pollers[1].revents != 0) return false;
    const size_t have = buffer_.size();
    buffer_.resize(have + kReadBytes);
    const ssize_t n = read(fd_, buffer_.data() + have, kReadBytes);
    const int error = errno;
    buffer_.resize(have + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n > 0) return true;
    if (n == 0 || (error != EINTR && error != EAGAIN)) return false;
  }
}

LineReader::Result LineReader::Next(std::string* line) {
  bool too_long = false;
  size_t searched = begin_;
  while (true) {
    const size_t feed = buffer_.find('\n', searched);
    if (feed != std::string::npos) {
      *line = too_long ? std::string() : buffer_.substr(begin_, feed - begin_);
      begin_ = feed + 1;
      return too_long ? Result::kTooLong : Result::kLine;
    }
    if (buffer_.size() - begin_ > kMaxLineBytes) {
      too_long = true;
      begin_ = buffer_.size();
    }
    const size_t unread = buffer_.size() - begin_;
    if (!Fill()) return Result::kEnd;
    searched = unread;
  }
}

void LineWriter::Write(absl::string_view line) {
  std::lock_guard<std::mutex> lock(mutex_);
  while (!line.empty() && !broken_) {
    const ssize_t n = write(fd_, line.data(), line.size());
    if (n > 0) {
      line.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd poller{.fd = fd_, .events = POLLOUT};
      poll(&poller, 1, -1);
    } else if (errno != EINTR) {
      broken_ = true;  // the client has gone; so will our input soon
    }
  }
}

}  // namespace cubby::mcp
