#include "cubby/search/text_reader.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "cubby/base/utf8.h"

namespace cubby::search {
namespace {

constexpr size_t kFirstRead = 64 << 10;

}  // namespace

void TextReader::Reserve(size_t bytes) {
  if (bytes <= capacity_) return;
  // Doubled, so that a file that does not say its size is not copied for each piece.
  const size_t larger = std::max(bytes, capacity_ * 2);
  std::unique_ptr<char[]> data(new char[larger]);
  if (size_ > 0) memcpy(data.get(), data_.get(), size_);
  data_ = std::move(data);
  capacity_ = larger;
}

TextOutcome TextReader::Start(int fd) {
  fd_ = fd;
  size_ = 0;
  read_bytes_ = 0;
  at_end_ = false;
  encoding_ = TextEncoding::kUtf8;
  error_number_ = 0;
  struct stat st {};
  if (fstat(fd, &st) != 0) {
    error_number_ = errno;
    return TextOutcome::kUnreadable;
  }
  if (!S_ISREG(st.st_mode)) return TextOutcome::kSpecial;
  known_bytes_ = static_cast<uint64_t>(st.st_size);
  if (known_bytes_ > max_file_bytes_) return TextOutcome::kTooLarge;
  // The probe alone first: most of a large binary file need not be read.
  const size_t first = known_bytes_ > kFirstRead ? kBinaryProbeBytes : kFirstRead;
  if (const TextOutcome outcome = Fill(first); outcome != TextOutcome::kText) return outcome;
  if (absl::StartsWith(text(), "\xFF\xFE") || absl::StartsWith(text(), "\xFE\xFF")) {
    return DecodeUtf16();
  }
  if (memchr(data_.get(), '\0', std::min(size_, kBinaryProbeBytes)) != nullptr) {
    return TextOutcome::kBinary;
  }
  if (absl::StartsWith(text(), "\xEF\xBB\xBF")) {
    size_ -= 3;
    memmove(data_.get(), data_.get() + 3, size_);
  }
  if (!at_end_) {
    const TextOutcome outcome = Fill(kWindowBytes - size_);
    if (outcome != TextOutcome::kText) return outcome;
  }
  JoinLineEnds(0);
  DropCarriageReturnAtEnd();
  return TextOutcome::kText;
}

TextOutcome TextReader::ReadMore(size_t keep_from) {
  size_ -= keep_from;
  memmove(data_.get(), data_.get() + keep_from, size_);
  // A line of a whole window is given one more.
  if (size_ >= 2 * kWindowBytes) return TextOutcome::kTooLarge;
  const size_t old_size = size_;
  const TextOutcome outcome = Fill(kWindowBytes);
  JoinLineEnds(old_size == 0 ? 0 : old_size - 1);
  DropCarriageReturnAtEnd();
  return outcome;
}

// Appends up to `wanted` bytes of the file.
TextOutcome TextReader::Fill(size_t wanted) {
  if (known_bytes_ > 0) {
    wanted = static_cast<size_t>(std::min<uint64_t>(wanted, known_bytes_ - read_bytes_));
  }
  while (wanted > 0) {
    const size_t piece = std::min(wanted, known_bytes_ > 0 ? wanted : kFirstRead);
    Reserve(size_ + piece);
    const ssize_t got = read(fd_, data_.get() + size_, piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      error_number_ = errno;
      return TextOutcome::kUnreadable;
    }
    size_ += static_cast<size_t>(got);
    read_bytes_ += static_cast<uint64_t>(got);
    wanted -= static_cast<size_t>(got);
    if (read_bytes_ > max_file_bytes_) return TextOutcome::kTooLarge;
    if (got == 0) break;
  }
  // The file as large as it was when it was opened; what is appended meanwhile is not looked at.
  at_end_ = wanted > 0 || (known_bytes_ > 0 && read_bytes_ == known_bytes_);
  return TextOutcome::kText;
}

void TextReader::DropCarriageReturnAtEnd() {
  if (at_end_ && size_ > 0 && data_[size_ - 1] == '\r') --size_;
}

void TextReader::JoinLineEnds(size_t from) {
  if (from >= size_) return;
  char* out = nullptr;
  const char* const end = data_.get() + size_;
  const char* in = data_.get() + from;
  while (in < end) {
    const auto* cr = static_cast<const char*>(memchr(in, '\r', static_cast<size_t>(end - in)));
    const char* const stop = cr == nullptr ? end : cr;
    if (out == nullptr) {
      out = const_cast<char*>(stop);
    } else {
      memmove(out, in, static_cast<size_t>(stop - in));
      out += stop - in;
    }
    if (cr == nullptr) break;
    if (cr + 1 == end || cr[1] != '\n') *out++ = '\r';
    in = cr + 1;
  }
  size_ = static_cast<size_t>(out - data_.get());
}

// As a whole: a file in this encoding is small in practice, and bounded by the window in any case.
TextOutcome TextReader::DecodeUtf16() {
  encoding_ = data_[0] == '\xFF' ? TextEncoding::kUtf16Le : TextEncoding::kUtf16Be;
  if (!at_end_) {
    const TextOutcome outcome = Fill(kWindowBytes - size_);
    if (outcome != TextOutcome::kText) return outcome;
    if (!at_end_) return TextOutcome::kTooLarge;
  }
  const auto unit = [this](size_t at) {
    const auto a = static_cast<unsigned char>(data_[at]);
    const auto b = static_cast<unsigned char>(data_[at + 1]);
    return static_cast<uint32_t>(encoding_ == TextEncoding::kUtf16Le ? b << 8 | a : a << 8 | b);
  };
  constexpr uint32_t kReplacement = 0xFFFD;
  std::string decoded;
  decoded.reserve(size_);
  for (size_t at = 2; at + 1 < size_; at += 2) {
    uint32_t c = unit(at);
    if (c >= 0xD800 && c < 0xDC00 && at + 3 < size_ && (unit(at + 2) & 0xFC00) == 0xDC00) {
      c = 0x10000 + ((c & 0x3FF) << 10) + (unit(at + 2) & 0x3FF);
      at += 2;
    } else if (c >= 0xD800 && c < 0xE000) {
      c = kReplacement;
    }
    AppendUtf8(c, &decoded);
  }
  size_ = 0;
  Reserve(decoded.size());
  memcpy(data_.get(), decoded.data(), decoded.size());
  size_ = decoded.size();
  if (memchr(data_.get(), '\0', std::min(size_, kBinaryProbeBytes)) != nullptr) {
    return TextOutcome::kBinary;
  }
  JoinLineEnds(0);
  DropCarriageReturnAtEnd();
  return TextOutcome::kText;
}

}  // namespace cubby::search
