#include "cubby/cli/output.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cubby/status.h"

namespace cubby::cli {
namespace {

// The length of the UTF-8 character at the start of `bytes`, 0 when there is none (RFC 3629:
// no overlong forms, no surrogates, nothing above U+10FFFF).
size_t CharacterLength(absl::string_view bytes) {
  const auto at = [&bytes](size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
  };
  const auto continues = [&at](size_t i) { return (at(i) & 0xC0U) == 0x80; };
  const unsigned first = at(0);
  if (first < 0x80) return bytes.empty() ? 0 : 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (first == 0xE0 && at(1) < 0xA0) return 0;
    if (first == 0xED && at(1) > 0x9F) return 0;
    return continues(1) && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (first == 0xF0 && at(1) < 0x90) return 0;
    if (first == 0xF4 && at(1) > 0x8F) return 0;
    return continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

// U+0080 to U+009F: terminals take some of them for the start of a control sequence.
bool IsC1Control(absl::string_view character) {
  return character.size() == 2 && character[0] == '\xC2' &&
         static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace

absl::Status WriteFully(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd writable{.fd = fd, .events = POLLOUT};
      poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return ErrnoError(errno,
                        fd == STDERR_FILENO ? "write standard error" : "write standard output");
    }
  }
  return absl::OkStatus();
}

bool IsTerminal(int fd) { return isatty(fd) == 1; }

std::string Escape(absl::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const size_t length = CharacterLength(bytes);
    const auto first = static_cast<unsigned char>(bytes[0]);
    if (first == '\n') {
      out += "\\n";
    } else if (first == '\t') {
      out += "\\t";
    } else if (first == '\\') {
      out += "\\\\";
    } else if (length == 0 || first < 0x20 || first == 0x7F) {
      absl::StrAppendFormat(&out, "\\x%02x", first);
    } else if (IsC1Control(bytes.substr(0, length))) {
      absl::StrAppendFormat(&out, "\\x%02x\\x%02x", first, static_cast<unsigned char>(bytes[1]));
    } else {
      absl::StrAppend(&out, bytes.substr(0, length));
    }
    bytes.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

std::string ForPeople(int fd, absl::string_view bytes) {
  return IsTerminal(fd) ? Escape(bytes) : std::string(bytes);
}

bool IsUtf8(absl::string_view bytes) {
  while (!bytes.empty()) {
    const size_t length = CharacterLength(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

size_t CharacterCount(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80;
  }));
}

std::string Table::ToString() const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], CharacterCount(row[i]));
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] - CharacterCount(row[i]) + 2, ' ');
    }
    out += '\n';
  }
  return out;
}

std::string IsoTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

}  // namespace cubby::cli
