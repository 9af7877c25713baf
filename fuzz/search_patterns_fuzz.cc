// Patterns and names of strangers: compiling and matching end, and the two ways to ask agree.
#include <stddef.h>
#include <stdint.h>

#include <string>

#include "cubby/search/glob_matcher.h"
#include "cubby/search/glob_pattern.h"
#include "cubby/search/line_pattern.h"

namespace {

using namespace cubby::search;

// Name by name, as a walk asks.
bool MatchesAsWalked(const GlobPattern& pattern, absl::string_view path) {
  GlobMatcher matcher(pattern);
  const size_t slash = path.rfind('/');
  matcher.EnterFolder(slash == absl::string_view::npos ? "" : path.substr(0, slash));
  return matcher.MatchesName(slash == absl::string_view::npos ? path : path.substr(slash + 1));
}

bool IsRelativePath(absl::string_view path) {
  return !path.empty() && path.front() != '/' && path.back() != '/' &&
         path.find("//") == absl::string_view::npos && path.find('\0') == absl::string_view::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t cut = bytes.find('\n');
  const absl::string_view pattern = bytes.substr(0, cut);
  const absl::string_view text = cut == absl::string_view::npos ? "" : bytes.substr(cut + 1);
  for (GlobRules rules : {GlobRules::kRecursive, GlobRules::kCompat}) {
    const absl::StatusOr<GlobPattern> glob = GlobPattern::Compile(pattern, rules);
    if (!glob.ok() || !IsRelativePath(text)) continue;
    if (GlobMatcher(*glob).Matches(text) != MatchesAsWalked(*glob, text)) __builtin_trap();
  }
  for (PatternSyntax syntax : {PatternSyntax::kRegex, PatternSyntax::kLiteral}) {
    for (PatternCase letter_case : {PatternCase::kInsensitive, PatternCase::kSensitive}) {
      const absl::StatusOr<LinePattern> line = LinePattern::Compile(pattern, syntax, letter_case);
      if (!line.ok()) continue;
      LineScan scan;
      const std::optional<LineMatch> match = line->Find(text, 0, text.size(), &scan);
      if (!match.has_value()) continue;
      if (match->begin > match->end || match->end > text.size()) __builtin_trap();
      const absl::string_view found = text.substr(match->begin, match->end - match->begin);
      if (found.find('\n') != absl::string_view::npos) __builtin_trap();
    }
  }
  return 0;
}
