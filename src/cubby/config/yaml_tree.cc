#include "cubby/config/yaml_tree.h"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <sstream>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "cubby/status.h"

namespace cubby::config {
namespace {

// Ends the parsing from inside of the library's callbacks; it never leaves this file.
struct Refusal : std::exception {
  Refusal(int at, std::string why) : line(at), reason(std::move(why)) {}
  int line;
  std::string reason;
};

int LineOf(const YAML::Mark& mark) { return mark.line + 1; }

// What a map takes over from others with `<<: *other` or `<<: [*one, *two]`: keys of its own win,
// then earlier ones.
void Merge(const std::vector<YamlRef>& sources, YamlNode* map,
           absl::flat_hash_set<std::string>* seen) {
  for (const YamlRef& source : sources) {
    if (source->kind == YamlNode::Kind::kList) {
      for (const YamlRef& item : source->items) {
        if (item->kind == YamlNode::Kind::kList) throw Refusal(item->line, "<< takes maps");
      }
      Merge(source->items, map, seen);
      continue;
    }
    if (source->kind != YamlNode::Kind::kMap) throw Refusal(source->line, "<< takes maps");
    for (const YamlEntry& entry : source->entries) {
      if (seen->insert(entry.key).second) map->entries.push_back(entry);
    }
  }
}

class TreeBuilder : public YAML::EventHandler {
 public:
  YamlRef Take() { return root_ != nullptr ? root_ : std::make_shared<const YamlNode>(); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) throw Refusal(LineOf(mark), "a second document; one is allowed");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node;
    node.line = LineOf(mark);
    const int line = node.line;
    Add(anchor, std::make_shared<const YamlNode>(std::move(node)), line);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node;
    node.kind = YamlNode::Kind::kText;
    node.line = LineOf(mark);
    node.text = value;
    node.weight += static_cast<int64_t>(value.size());
    const int line = node.line;
    Add(anchor, std::make_shared<const YamlNode>(std::move(node)), line);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    // An anchor is known to the library before what it names has ended.
    const YamlRef* node = anchor < anchors_.size() ? &anchors_[anchor] : nullptr;
    if (node == nullptr || *node == nullptr) throw Refusal(LineOf(mark), "an alias inside itself");
    aliased_weight_ += (*node)->weight;
    if (aliased_weight_ > kMaxAliasedWeight) {
      throw Refusal(LineOf(mark),
                    absl::StrCat("aliases repeat more than ", kMaxAliasedWeight >> 20, " MiB"));
    }
    Add(0, *node, LineOf(mark));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    Open(mark, YamlNode::Kind::kList, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    Open(mark, YamlNode::Kind::kMap, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Building {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    bool merges = false;  // the key is `<<`
    YamlEntry entry;      // the key whose value comes next
    std::vector<YamlRef> merged;
    absl::flat_hash_set<std::string> seen;
  };

  void Open(const YAML::Mark& mark, YamlNode::Kind kind, YAML::anchor_t anchor) {
    if (stack_.size() >= kMaxDepth) throw Refusal(LineOf(mark), TooDeep());
    stack_.emplace_back();
    stack_.back().node.kind = kind;
    stack_.back().node.line = LineOf(mark);
    stack_.back().anchor = anchor;
  }

  void Close() {
    Building done = std::move(stack_.back());
    stack_.pop_back();
    Merge(done.merged, &done.node, &done.seen);
    const int line = done.node.line;
    Add(done.anchor, std::make_shared<const YamlNode>(std::move(done.node)), line);
  }

  static std::string TooDeep() { return absl::StrCat("nested deeper than ", kMaxDepth); }

  void Add(YAML::anchor_t anchor, YamlRef node, int line) {
    if (anchor != 0) {
      if (anchor >= anchors_.size()) anchors_.resize(anchor + 1);
      anchors_[anchor] = node;
    }
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Building& parent = stack_.back();
    parent.node.weight += node->weight;
    parent.node.depth = std::max(parent.node.depth, node->depth + 1);
    if (parent.node.depth > kMaxDepth) throw Refusal(line, TooDeep());
    if (parent.node.kind == YamlNode::Kind::kList) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    if (!parent.has_key) {
      parent.entry = {.key = node->text, .line = line};
      parent.merges = node->text == "<<";
      parent.has_key = true;
      return;
    }
    parent.has_key = false;
    if (parent.merges) {
      parent.merged.push_back(std::move(node));
      return;
    }
    parent.entry.value = std::move(node);
    if (!parent.seen.insert(parent.entry.key).second && parent.node.duplicate_line == 0) {
      parent.node.duplicate = parent.entry.key;
      parent.node.duplicate_line = parent.entry.line;
    }
    parent.node.entries.push_back(std::move(parent.entry));
  }

  int documents_ = 0;
  int64_t aliased_weight_ = 0;
  YamlRef root_;
  std::vector<YamlRef> anchors_;
  std::vector<Building> stack_;
};

}  // namespace

absl::StatusOr<YamlRef> ParseYaml(absl::string_view name, const std::string& text) {
  const auto refuse = [&](int line, absl::string_view reason) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     absl::StrCat(name, ":", line, ": ", reason), {.path = std::string(name)});
  };
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    TreeBuilder builder;
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.Take();
  } catch (const Refusal& refusal) {
    return refuse(refusal.line, refusal.reason);
  } catch (const YAML::DeepRecursion& error) {
    return refuse(LineOf(error.mark), absl::StrCat("nested deeper than ", kMaxDepth));
  } catch (const YAML::Exception& error) {
    // The library's words never quote the text, but for a character or two.
    return refuse(LineOf(error.mark), absl::StrCat("not YAML: ", absl::CHexEscape(error.msg)));
  } catch (const std::exception& error) {
    return refuse(1, absl::StrCat("not YAML: ", error.what()));
  }
}

}  // namespace cubby::config
