// Credentials for registries, as Docker keeps them.
#ifndef CUBBY_IMAGE_REGISTRY_AUTH_H_
#define CUBBY_IMAGE_REGISTRY_AUTH_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cubby {

// Empty: anonymous. Never logged, never part of an error.
struct Credentials {
  std::string user;
  std::string password;
  std::string identity_token;
  [[nodiscard]] bool empty() const { return user.empty() && identity_token.empty(); }
};

// From $DOCKER_CONFIG/config.json or ~/.docker/config.json: credential helpers
// (docker-credential-NAME), the credential store, then the file's own entries. A file that is not
// there is anonymous; a damaged one, or a helper that fails, is an error.
absl::StatusOr<Credentials> FindCredentials(const std::string& registry);

// "Bearer realm=\"...\",service=\"...\",scope=\"...\"" (RFC 9110, WWW-Authenticate).
struct Challenge {
  std::string scheme;  // lower case
  std::map<std::string, std::string> parameters;
};
Challenge ParseChallenge(absl::string_view header);

}  // namespace cubby

#endif  // CUBBY_IMAGE_REGISTRY_AUTH_H_
