// One setting's value: from a text into its field, and back.
#ifndef CUBBY_CONFIG_SETTING_VALUE_H_
#define CUBBY_CONFIG_SETTING_VALUE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cubby/config/setting.h"

namespace cubby::config {

// Puts a value where it belongs. The error says only what is allowed, as in "must be one of burst,
// wait, reject"; the caller knows where the value came from and whether it may be shown.
absl::Status SetFromText(const Setting& setting, absl::string_view text, Config* config);

// The same for a key of a mount.
absl::Status SetFromText(const MountSetting& setting, absl::string_view text, Mount* mount);

// What is allowed, as in "a whole number from 1 to 65535".
std::string Allowed(const Setting& setting);
std::string Allowed(const MountSetting& setting);

// The value as one would write it in the file; "***" for a secret and for the environment, unless
// they are empty. Empty: not set.
std::string ToText(const Setting& setting, const Config& config);

bool IsSecret(const Setting& setting);
// Not a single text: `environment` and `mounts`.
bool IsStructure(const Setting& setting);

// What the setting is when the file does not say, with this backend in use.
absl::string_view Fallback(const Setting& setting, BackendKind backend);

}  // namespace cubby::config

#endif  // CUBBY_CONFIG_SETTING_VALUE_H_
