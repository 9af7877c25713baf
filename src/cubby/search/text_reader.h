// Reads a file as text, a bounded piece at a time, and says when it is none.
#ifndef CUBBY_SEARCH_TEXT_READER_H_
#define CUBBY_SEARCH_TEXT_READER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace cubby::search {

enum class TextEncoding : uint8_t { kUtf8, kUtf16Le, kUtf16Be };

enum class TextOutcome {
  kText,
  kBinary,      // a NUL byte in the first 8192 bytes
  kTooLarge,    // above the limit, also when found out while reading, or with a line that does not
                // fit in memory
  kSpecial,     // no regular file
  kUnreadable,  // see error_number()
};

// The text is what is searched: CRLF is LF, a byte order mark is left out, UTF-16 with its mark is
// UTF-8. Files are read, not mapped: one that shrinks meanwhile would kill the process. Reusable,
// one file after the other; keeps its buffer.
class TextReader {
 public:
  // Holds at most kWindowBytes and the longest line, up to the same again, of a file at once.
  explicit TextReader(uint64_t max_file_bytes) : max_file_bytes_(max_file_bytes) {}

  // Begins with the file `fd`, borrowed until the next call, and reads the first piece.
  TextOutcome Start(int fd);

  [[nodiscard]] absl::string_view text() const { return {data_.get(), size_}; }
  [[nodiscard]] bool at_end() const { return at_end_; }
  [[nodiscard]] TextEncoding encoding() const { return encoding_; }
  [[nodiscard]] int error_number() const { return error_number_; }

  // Drops the text before `keep_from` and reads on.
  TextOutcome ReadMore(size_t keep_from);

  static constexpr size_t kWindowBytes = 4 << 20;
  static constexpr size_t kBinaryProbeBytes = 8192;

 private:
  TextOutcome Fill(size_t wanted);
  void Reserve(size_t bytes);
  void JoinLineEnds(size_t from);
  void DropCarriageReturnAtEnd();
  TextOutcome DecodeUtf16();

  const uint64_t max_file_bytes_;
  int fd_ = -1;
  std::unique_ptr<char[]> data_;
  size_t capacity_ = 0;
  size_t size_ = 0;
  uint64_t read_bytes_ = 0;   // of the file
  uint64_t known_bytes_ = 0;  // the file's size when it was opened; 0 when it does not say
  bool at_end_ = false;
  TextEncoding encoding_ = TextEncoding::kUtf8;
  int error_number_ = 0;
};

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_TEXT_READER_H_
