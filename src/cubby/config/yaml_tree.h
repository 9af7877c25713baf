// YAML text as a tree with line numbers, safe to take from a stranger.
//
// The library's own loader says nothing of a key that stands twice; we take its events instead.
// Aliases share the node that they name, so a file of aliases costs no more than its text; how
// large and how deep the tree *looks* through them is bounded as well, for whoever walks it.
#ifndef CUBBY_CONFIG_YAML_TREE_H_
#define CUBBY_CONFIG_YAML_TREE_H_

#include <stdint.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cubby::config {

inline constexpr size_t kMaxFileBytes = 1 << 20;
inline constexpr int kMaxDepth = 64;
inline constexpr int64_t kMaxAliasedWeight = 8 << 20;  // nodes and bytes of text

struct YamlNode;
using YamlRef = std::shared_ptr<const YamlNode>;

struct YamlEntry {
  std::string key;  // empty for a key that is no text
  int line = 0;
  YamlRef value;
};

struct YamlNode {
  enum class Kind { kNull, kText, kList, kMap };
  Kind kind = Kind::kNull;
  int line = 0;                    // 1-based
  std::string text;                // of kText
  std::vector<YamlRef> items;      // of kList
  std::vector<YamlEntry> entries;  // of kMap, in file order; what `<<` merges comes last
  std::string duplicate;           // of kMap: a key that it holds twice, at duplicate_line
  int duplicate_line = 0;          // 0: none
  int64_t weight = 1;              // nodes and bytes of text, seen through aliases
  int depth = 1;                   // seen through aliases
};

// The file's one document; a kNull node for an empty file. INVALID_ARGUMENT with "`name`:LINE:
// ...".
absl::StatusOr<YamlRef> ParseYaml(absl::string_view name, const std::string& text);

}  // namespace cubby::config

#endif  // CUBBY_CONFIG_YAML_TREE_H_
