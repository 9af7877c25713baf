// Users of the sandbox, from its own /etc/passwd and /etc/group. Never through NSS: the image may
// bring libraries, and nothing of the image runs inside the agent.
#ifndef CUBBY_AGENT_USER_H_
#define CUBBY_AGENT_USER_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cubby::agent {

struct User {
  std::string name;  // empty when a bare uid is not in the file
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  std::string home = "/";
};

// "name", "uid", "name:group", "uid:gid" (OCI image configuration, "User"); empty is root.
// FAILED_PRECONDITION when a name is not in the files.
absl::StatusOr<User> FindUser(absl::string_view spec, absl::string_view passwd,
                              absl::string_view group);

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_USER_H_
