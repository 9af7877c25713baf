#include "cubby/cli/progress.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cubby/base/deadline.h"
#include "cubby/cli/output.h"
#include "cubby/cli/units.h"

namespace cubby::cli {
namespace {

constexpr absl::Duration kBetweenLines = absl::Seconds(5);
constexpr size_t kBarWidth = 20;

// Progress is news, never the result: when it cannot be printed, the work goes on.
void PrintNews(int fd, absl::string_view text) { WriteFully(fd, text).IgnoreError(); }

}  // namespace

Progress::Progress(int fd, std::string subject, Style style, int columns)
    : fd_(fd), subject_(std::move(subject)), style_(style), columns_(columns) {}

Progress::~Progress() {
  if (drawn_) PrintNews(fd_, "\r\033[K");
}

std::string Progress::Line(const std::string& subject, const PullProgress& progress,
                           absl::Duration since_start, int64_t bytes_at_start, Style style,
                           int columns) {
  std::string text = absl::StrCat(subject, ": ", progress.step);
  const int64_t done = std::max<int64_t>(progress.done_bytes, 0);
  const int64_t total = std::max<int64_t>(progress.total_bytes, 0);
  if (total > 0) {
    const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    if (style == Style::kBar) {
      const auto filled = static_cast<size_t>(part * kBarWidth);
      absl::StrAppend(&text, " [", std::string(filled, '#'), std::string(kBarWidth - filled, ' '),
                      "]");
    }
    absl::StrAppendFormat(&text, " %.0f%% of %s", part * 100, FormatSize(total));
  } else if (done > 0) {
    absl::StrAppend(&text, " ", FormatSize(done));
  }
  const double seconds = absl::ToDoubleSeconds(since_start);
  if (seconds >= 0.5 && done > bytes_at_start) {
    const double rate = static_cast<double>(done - bytes_at_start) / seconds;
    absl::StrAppend(&text, ", ", FormatSize(static_cast<int64_t>(rate)), "/s");
    if (total > done) {
      const double left = static_cast<double>(total - done) / rate;
      absl::StrAppend(&text, ", ", FormatSpan(absl::Seconds(left)), " left");
    }
  }
  if (style == Style::kBar && columns > 1 && text.size() >= static_cast<size_t>(columns)) {
    text.resize(static_cast<size_t>(columns) - 1);  // a longer one would wrap and leave traces
  }
  return text;
}

void Progress::Show(const PullProgress& progress) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const absl::Duration now = MonotonicNow();
  const bool new_step = progress.step != step_;
  if (new_step) {
    step_ = progress.step;
    step_started_ = now;
    step_first_bytes_ = progress.done_bytes;
  }
  if (style_ == Style::kLines && !new_step && now - last_line_ < kBetweenLines) return;
  last_line_ = now;
  const std::string line =
      Escape(Line(subject_, progress, now - step_started_, step_first_bytes_, style_, columns_));
  if (style_ == Style::kBar) {
    PrintNews(fd_, absl::StrCat("\r", line, "\033[K"));
    drawn_ = true;
  } else {
    PrintNews(fd_, absl::StrCat("cubby: ", line, "\n"));
  }
}

}  // namespace cubby::cli
