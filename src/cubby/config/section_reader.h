// The `sandbox` section of a parsed file, and what lies over it, as a Config.
#ifndef CUBBY_CONFIG_SECTION_READER_H_
#define CUBBY_CONFIG_SECTION_READER_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cubby/config/setting.h"
#include "cubby/config/yaml_tree.h"

namespace cubby::config {

using Lookup = std::function<std::optional<std::string>(const std::string& variable)>;

class SectionReader {
 public:
  // `file` is how messages call it.
  SectionReader(std::string file, Lookup lookup);

  void ReadDocument(const YamlNode& document);
  void Override(const std::string& key, const std::string& text);

  // Once, at the end. Every problem met is a line of the error.
  absl::StatusOr<Config> Finish();
  // To be logged, also when Finish fails.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  // A value that was given, and where.
  struct Given {
    std::string where;  // "cubby.yaml:12: ", or empty for an override
    std::string key;    // as it was written
    YamlRef node;       // null for an override
    std::string text;   // of an override
  };
  // A text with its reference to a variable resolved.
  struct Resolved {
    std::string text;
    std::string variable;  // that it came from
  };

  [[nodiscard]] std::string Where(int line) const;
  void Problem(const std::string& where, absl::string_view key, absl::string_view reason);
  // False when a problem was reported.
  bool CheckMap(const YamlNode& node, absl::string_view key);
  void ReadMap(const YamlNode& map, const std::string& prefix);
  std::optional<Resolved> Resolve(const std::string& where, absl::string_view key,
                                  const std::string& text);
  void Apply(const Setting& setting);
  void ApplyEnvironment(const Given& given, std::map<std::string, std::string>* environment);
  void ApplyMounts(const Given& given, std::vector<Mount>* mounts);
  void ApplyMount(const YamlNode& node, const std::string& key, Mount* mount);
  void ApplyVariables(const Setting& setting);
  void ApplyBackendRules();

  std::string file_;
  Lookup lookup_;
  Config config_;
  std::map<absl::string_view, Given> given_;        // by the setting's own key
  absl::flat_hash_set<absl::string_view> written_;  // settings with a good value of the file's
  std::vector<std::string> problems_;
  std::vector<std::string> unknown_;
  std::vector<std::string> warnings_;
};

}  // namespace cubby::config

#endif  // CUBBY_CONFIG_SECTION_READER_H_
