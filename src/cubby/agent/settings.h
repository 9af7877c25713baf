// What commands get unless their request says otherwise.
#ifndef CUBBY_AGENT_SETTINGS_H_
#define CUBBY_AGENT_SETTINGS_H_

#include <string>

#include "cubby/agent/guest_files.h"
#include "cubby/base/env_policy.h"

namespace cubby::agent {

struct Settings {
  Environment environment;
  std::string user;
  std::string working_directory = "/";
  Owner owner;  // of the files that callers create
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_SETTINGS_H_
