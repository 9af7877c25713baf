// Lines over descriptors: the stdio transport of MCP.
#ifndef CUBBY_MCP_LINE_IO_H_
#define CUBBY_MCP_LINE_IO_H_

#include <stddef.h>

#include <atomic>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace cubby::mcp {

// An uploaded file travels in one line.
inline constexpr size_t kMaxLineBytes = 64 << 20;

class LineReader {
 public:
  // Both are borrowed. `stop` is readable when reading must end.
  LineReader(int fd, int stop) : fd_(fd), stop_(stop) {}

  enum class Result { kLine, kTooLong, kEnd };
  // Waits for the next line and gives it without its LF. One that is too long is passed over. A
  // last one without LF is no line.
  Result Next(std::string* line);

 private:
  bool Fill();

  const int fd_;
  const int stop_;
  std::string buffer_;
  size_t begin_ = 0;
};

class LineWriter {
 public:
  explicit LineWriter(int fd) : fd_(fd) {}

  // Whole lines, from any thread. After the reader has gone nothing is written.
  void Write(absl::string_view line);

 private:
  const int fd_;
  std::mutex mutex_;
  bool broken_ = false;
};

}  // namespace cubby::mcp

#endif  // CUBBY_MCP_LINE_IO_H_
