#include "cubby/search/ignore_rules.h"

#include "absl/strings/match.h"

namespace cubby::search {
namespace {

constexpr absl::string_view kNames[] = {".git",        ".svn",         ".hg",
                                        ".bzr",        "node_modules", "__pycache__",
                                        ".venv",       "venv",         ".env",
                                        "env",         ".tox",         ".nox",
                                        ".eggs",       "*.egg-info",   "site-packages",
                                        "dist",        "build",        ".next",
                                        ".nuxt",       ".output",      ".turbo",
                                        "target",      "out",          ".idea",
                                        ".vscode",     "*.swp",        "*.swo",
                                        "*~",          ".project",     ".classpath",
                                        ".settings",   ".DS_Store",    "Thumbs.db",
                                        "desktop.ini", "*.lnk",        "*.log",
                                        "*.tmp",       "*.temp",       ".upload-*.part",
                                        "*.bak",       "*.cache",      ".cache",
                                        "logs",        ".coverage",    "coverage",
                                        ".nyc_output", "htmlcov",      ".pytest_cache",
                                        ".mypy_cache", ".ruff_cache"};
static_assert(sizeof(kNames) / sizeof(kNames[0]) == 50);

}  // namespace

absl::Span<const absl::string_view> IgnoreRules::DefaultNames() { return kNames; }

IgnoreRules::IgnoreRules() {
  for (absl::string_view entry : kNames) Add(entry);
}

IgnoreRules::IgnoreRules(absl::Span<const std::string> extra) : IgnoreRules() {
  for (const std::string& entry : extra) Add(entry);
}

IgnoreRules IgnoreRules::Only(absl::Span<const std::string> names) {
  IgnoreRules rules{Nothing()};
  for (const std::string& entry : names) rules.Add(entry);
  return rules;
}

void IgnoreRules::Add(absl::string_view entry) {
  Wildcard pieces;
  size_t begin = 0;
  for (size_t star = entry.find('*'); star != absl::string_view::npos;
       star = entry.find('*', begin)) {
    pieces.emplace_back(entry.substr(begin, star - begin));
    begin = star + 1;
  }
  if (pieces.empty()) {
    exact_.emplace(entry);
    return;
  }
  pieces.emplace_back(entry.substr(begin));
  if (pieces.back().empty()) {
    open_ended_.push_back(std::move(pieces));
  } else {
    by_last_byte_[static_cast<unsigned char>(pieces.back().back())].push_back(std::move(pieces));
  }
}

// The first piece is a beginning, the last an end, and between them taking the leftmost place for
// every piece in turn leaves the most room for those that follow: no backtracking.
bool IgnoreRules::MatchesWildcard(const Wildcard& pieces, absl::string_view name) {
  const std::string& first = pieces.front();
  const std::string& last = pieces.back();
  if (name.size() < first.size() + last.size()) return false;
  if (!absl::StartsWith(name, first) || !absl::EndsWith(name, last)) return false;
  name.remove_prefix(first.size());
  name.remove_suffix(last.size());
  for (size_t i = 1; i + 1 < pieces.size(); ++i) {
    const size_t at = name.find(pieces[i]);
    if (at == absl::string_view::npos) return false;
    name.remove_prefix(at + pieces[i].size());
  }
  return true;
}

bool IgnoreRules::Matches(absl::string_view name) const {
  if (name.empty()) return false;
  if (exact_.contains(name)) return true;
  for (const Wildcard& pieces : by_last_byte_[static_cast<unsigned char>(name.back())]) {
    if (MatchesWildcard(pieces, name)) return true;
  }
  for (const Wildcard& pieces : open_ended_) {
    if (MatchesWildcard(pieces, name)) return true;
  }
  return false;
}

}  // namespace cubby::search
