#include "cubby/cli/units.h"

#include <signal.h>
#include <string.h>

#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace cubby::cli {
namespace {

// The largest count of leading characters that are digits or a decimal point.
size_t NumberLength(absl::string_view text) {
  size_t length = 0;
  while (length < text.size() && (absl::ascii_isdigit(text[length]) || text[length] == '.')) {
    ++length;
  }
  return length;
}

}  // namespace

absl::StatusOr<int64_t> ParseSize(absl::string_view text) {
  const absl::Status bad = absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a size; write it as in 512M, 1.5G or 64KiB"));
  const size_t length = NumberLength(text);
  double number = 0;
  if (length == 0 || !absl::SimpleAtod(text.substr(0, length), &number)) return bad;
  std::string unit = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text.substr(length)));
  if (absl::EndsWith(unit, "ib")) {
    unit.resize(unit.size() - 2);
    if (unit.empty()) return bad;
  } else if (absl::EndsWith(unit, "b")) {
    unit.resize(unit.size() - 1);
  }
  double factor = 1;
  if (!unit.empty()) {
    const char* const units = "kmgtp";
    const char* const at = unit.size() == 1 ? strchr(units, unit[0]) : nullptr;
    if (at == nullptr) return bad;
    factor = std::pow(1024.0, static_cast<double>(at - units + 1));
  }
  const double bytes = number * factor;
  if (!(bytes < 9.2e18)) return bad;
  return static_cast<int64_t>(bytes);
}

std::string FormatSize(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return absl::StrCat(bytes, " B");
  if (value >= 100 || value == std::floor(value)) {
    return absl::StrFormat("%.0f %s", value, kUnits[unit]);
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

absl::StatusOr<absl::Duration> ParseSpan(absl::string_view text) {
  const absl::Status bad = absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a time; write it as in 30, 30s, 500ms, 5m or 1h30m"));
  double seconds = 0;
  if (!text.empty() && NumberLength(text) == text.size()) {
    if (!absl::SimpleAtod(text, &seconds)) return bad;
    return absl::Seconds(seconds);
  }
  // Days are not known to absl::ParseDuration.
  absl::Duration days;
  if (const size_t at = text.find('d'); at != absl::string_view::npos) {
    if (!absl::SimpleAtod(text.substr(0, at), &seconds) || seconds < 0) return bad;
    days = absl::Hours(24) * seconds;
    text.remove_prefix(at + 1);
    if (text.empty()) return days;
  }
  absl::Duration span;
  if (!absl::ParseDuration(text, &span) || span < absl::ZeroDuration()) return bad;
  return days + span;
}

std::string FormatSpan(absl::Duration span) {
  const double seconds = absl::ToDoubleSeconds(span);
  if (seconds < 1) return absl::StrFormat("%.1f ms", seconds * 1e3);
  if (seconds < 10) return absl::StrFormat("%.1f s", seconds);
  if (seconds < 120) return absl::StrFormat("%.0f s", seconds);
  if (seconds < 7200) return absl::StrFormat("%.0f min", std::floor(seconds / 60));
  if (seconds < 172800) return absl::StrFormat("%.0f h", std::floor(seconds / 3600));
  return absl::StrFormat("%.0f d", std::floor(seconds / 86400));
}

absl::StatusOr<uint32_t> ParseMode(absl::string_view text) {
  uint32_t mode = 0;
  bool good = !text.empty() && text.size() <= 5;
  for (const char digit : text) {
    good = good && digit >= '0' && digit <= '7';
    mode = mode * 8 + static_cast<uint32_t>(digit - '0');
  }
  if (!good || mode > 07777) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a file mode; write it in octal, as in 0644"));
  }
  return mode;
}

std::string FormatMode(uint32_t mode) { return absl::StrFormat("%04o", mode & 07777); }

absl::StatusOr<int> ParseSignal(absl::string_view text) {
  int number = 0;
  if (absl::SimpleAtoi(text, &number) && number > 0 && number < 65) return number;
  const std::string upper = absl::AsciiStrToUpper(text);
  const absl::string_view name = absl::StripPrefix(upper, "SIG");
  for (int signal = 1; signal < 32; ++signal) {
    const char* const abbreviation = sigabbrev_np(signal);
    if (abbreviation != nullptr && name == abbreviation) return signal;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a signal; write it as in TERM, SIGINT or 9"));
}

}  // namespace cubby::cli
