// How far a pull has come, for a person to see.
#ifndef CUBBY_CLI_PROGRESS_H_
#define CUBBY_CLI_PROGRESS_H_

#include <mutex>
#include <string>

#include "absl/time/time.h"
#include "cubby/image/store.h"

namespace cubby::cli {

// One line that is redrawn on a terminal (bytes, rate, time left); elsewhere a line at the start
// of each step and every five seconds. Thread-safe.
class Progress {
 public:
  enum class Style { kBar, kLines };
  // `columns` is the width that a bar may take.
  Progress(int fd, std::string subject, Style style, int columns = 80);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // Takes the bar away.
  ~Progress();

  void Show(const PullProgress& progress);

  // What is printed for a state; apart so that time can be chosen.
  static std::string Line(const std::string& subject, const PullProgress& progress,
                          absl::Duration since_start, int64_t bytes_at_start, Style style,
                          int columns);

 private:
  const int fd_;
  const std::string subject_;
  const Style style_;
  const int columns_;
  std::mutex mutex_;
  std::string step_;
  absl::Duration step_started_;
  int64_t step_first_bytes_ = 0;  // a resumed download does not start at 0
  absl::Duration last_line_;
  bool drawn_ = false;
};

}  // namespace cubby::cli

#endif  // CUBBY_CLI_PROGRESS_H_
