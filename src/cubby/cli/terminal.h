// The terminal on which the command runs.
#ifndef CUBBY_CLI_TERMINAL_H_
#define CUBBY_CLI_TERMINAL_H_

#include <termios.h>

#include <optional>

#include "cubby/sandbox.h"

namespace cubby::cli {

// The size of the terminal behind a descriptor; none when it is not one or does not know.
std::optional<TerminalSize> SizeOfTerminal(int fd);

// Raw mode on a terminal, so that every key reaches the sandbox; the previous mode comes back at
// the end of its life. Does nothing on what is not a terminal.
class RawMode {
 public:
  explicit RawMode(int fd);
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;
  ~RawMode() { Restore(); }
  void Restore();

 private:
  int fd_;
  std::optional<termios> previous_;
};

}  // namespace cubby::cli

#endif  // CUBBY_CLI_TERMINAL_H_
