#include "cubby/search/ignore_rules.h"

#include "absl/strings/match.h"

namespace cubby::search {
namespace {

constexpr const char* kNames[] = {".git",        ".svn",         ".hg",
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

}  // namespace

IgnoreRules::IgnoreRules() {
  for (const char* entry : kNames) {
    const absl::string_view text(entry);
    const size_t star = text.find('*');
    if (star == absl::string_view::npos) {
      exact_.insert(entry);
    } else {
      wildcards_.push_back({.prefix = std::string(text.substr(0, star)),
                            .suffix = std::string(text.substr(star + 1))});
    }
  }
}

bool IgnoreRules::Matches(absl::string_view name) const {
  if (exact_.contains(std::string(name))) return true;
  for (const Wildcard& wildcard : wildcards_) {
    if (name.size() >= wildcard.prefix.size() + wildcard.suffix.size() &&
        absl::StartsWith(name, wildcard.prefix) && absl::EndsWith(name, wildcard.suffix)) {
      return true;
    }
  }
  return false;
}

}  // namespace cubby::search
