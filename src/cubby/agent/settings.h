// What commands get unless their request says otherwise.
#ifndef CUBBY_AGENT_SETTINGS_H_
#define CUBBY_AGENT_SETTINGS_H_

#include <optional>
#include <string>

#include "cubby/agent/guest_files.h"
#include "cubby/agent/user.h"
#include "cubby/base/env_policy.h"

namespace cubby::agent {

struct Settings {
  Environment environment;
  std::string user;
  // `user` as it was found when the settings were made: most commands run as it, and should not
  // read /etc/passwd for that.
  std::optional<User> found_user;
  std::string working_directory = "/";
  Owner owner;  // of the files that callers create
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_SETTINGS_H_
