// What the command prints: bytes, text that is safe on a terminal, tables, JSON strings.
#ifndef CUBBY_CLI_OUTPUT_H_
#define CUBBY_CLI_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace cubby::cli {

// Writes everything, also to a descriptor that is non-blocking.
absl::Status WriteFully(int fd, absl::string_view bytes);

[[nodiscard]] bool IsTerminal(int fd);

// Names come from sandboxes, which are hostile: control characters and bytes that are not UTF-8
// become \n, \t or \xNN, a backslash is doubled.
std::string Escape(absl::string_view bytes);
// Escape for a terminal; the bytes themselves for a file or a pipe.
std::string ForPeople(int fd, absl::string_view bytes);

[[nodiscard]] bool IsUtf8(absl::string_view bytes);
// How many characters a UTF-8 text has.
size_t CharacterCount(absl::string_view text);

// Columns aligned by two blanks; the last column is not padded. No borders, no colours.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string ToString() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "2026-12-01T06:29:15Z"
std::string IsoTime(absl::Time time);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_OUTPUT_H_
