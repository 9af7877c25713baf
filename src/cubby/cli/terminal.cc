#include "cubby/cli/terminal.h"

#include <sys/ioctl.h>

namespace cubby::cli {

std::optional<TerminalSize> SizeOfTerminal(int fd) {
  winsize size = {};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    return std::nullopt;
  }
  return TerminalSize{.rows = size.ws_row, .columns = size.ws_col};
}

RawMode::RawMode(int fd) : fd_(fd) {
  termios current = {};
  if (tcgetattr(fd, &current) != 0) return;
  previous_ = current;
  cfmakeraw(&current);
  tcsetattr(fd, TCSADRAIN, &current);
}

void RawMode::Restore() {
  if (previous_.has_value()) tcsetattr(fd_, TCSADRAIN, &*previous_);
  previous_.reset();
}

}  // namespace cubby::cli
