// Loading a text as cubby.yaml, in a folder and with an environment of the test's own.
#ifndef CUBBY_CONFIG_TESTING_LOAD_H_
#define CUBBY_CONFIG_TESTING_LOAD_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cubby/config.h"

namespace cubby::config::testing {

using Variables = std::map<std::string, std::string>;
using Overrides = std::vector<std::pair<std::string, std::string>>;

struct Loaded {
  absl::StatusOr<Config> config;
  std::vector<std::string> warnings;

  // "cubby.yaml:1: ...", the folder cut off; empty when it went well.
  [[nodiscard]] std::string Error() const;
  std::string folder;
};

Loaded Load(const std::string& yaml, const Variables& variables = {},
            const Overrides& overrides = {});

// What was logged while `act` ran.
std::vector<std::string> LoggedBy(const std::function<void()>& act);

}  // namespace cubby::config::testing

#endif  // CUBBY_CONFIG_TESTING_LOAD_H_
