// Signals that are meant for the command in the sandbox.
#ifndef CUBBY_CLI_SIGNAL_RELAY_H_
#define CUBBY_CLI_SIGNAL_RELAY_H_

#include <signal.h>

#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "cubby/base/unique_fd.h"

namespace cubby::cli {

// While it lives, SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGWINCH do not act on this process but are
// handed to a function, on a thread of the relay. One may live at a time.
class SignalRelay {
 public:
  // `ordinal` counts the ending signals (all but SIGWINCH) from 1.
  using Handler = std::function<void(int signal, int ordinal)>;

  SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;
  ~SignalRelay();

  // Ending signals that came while there was no handler are handed over at once.
  void SetHandler(Handler handler);
  // Returns when the handler is not running and will not be called again.
  void ClearHandler();

  // The first ending signal that has come, or 0.
  [[nodiscard]] int first_signal() const;

 private:
  void Run();
  void Deliver(int signal);

  unique_fd read_end_;
  unique_fd write_end_;
  mutable std::mutex mutex_;
  Handler handler_;
  std::vector<int> waiting_;
  int first_ = 0;
  int count_ = 0;
  std::thread thread_;
  sigset_t callers_mask_;
};

}  // namespace cubby::cli

#endif  // CUBBY_CLI_SIGNAL_RELAY_H_
