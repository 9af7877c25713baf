#include "cubby/tools/redaction.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace cubby::tools {
namespace {

constexpr size_t kShortestSecret = 8;

enum class HexCase { kLower, kUpper };

std::string PercentEncode(absl::string_view value, HexCase hex_case) {
  std::string encoded;
  for (const char c : value) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ||
        c == '~') {
      encoded += c;
    } else {
      const std::string hex =
          absl::StrCat(absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
      absl::StrAppend(&encoded, "%",
                      hex_case == HexCase::kUpper ? absl::AsciiStrToUpper(hex) : hex);
    }
  }
  return encoded;
}

}  // namespace

std::string Redact(std::string text, const std::map<std::string, std::string>& secrets) {
  std::set<std::string> forms;
  for (const auto& [name, value] : secrets) {
    if (value.size() < kShortestSecret) continue;
    forms.insert(value);
    forms.insert(absl::Base64Escape(value));
    forms.insert(absl::WebSafeBase64Escape(value));
    for (const HexCase hex_case : {HexCase::kLower, HexCase::kUpper}) {
      forms.insert(PercentEncode(value, hex_case));
    }
  }
  std::vector<std::string> longest_first(forms.begin(), forms.end());
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  for (const std::string& form : longest_first) {
    absl::StrReplaceAll({{form, "[redacted]"}}, &text);
  }
  return text;
}

}  // namespace cubby::tools
