// For whom a sandbox is: a user's thread.
#ifndef CUBBY_POOL_IDENTITY_H_
#define CUBBY_POOL_IDENTITY_H_

#include <string>

#include "absl/status/status.h"

namespace cubby {

struct Identity {
  std::string user;    // empty: none was named
  std::string thread;  // never empty

  friend bool operator==(const Identity&, const Identity&) = default;
  friend auto operator<=>(const Identity&, const Identity&) = default;
};

// INVALID_ARGUMENT for an identity without a thread.
absl::Status CheckIdentity(const Identity& identity);

// The first 16 hex digits of SHA-256 of `user:thread`, so that names which other systems made stay
// the same. In parts that hold `:` or `%` these are percent-escaped first: two identities never
// have one text. That their ids differ too is likely, not certain: compare the identities.
std::string SandboxIdOf(const Identity& identity);

// How messages name it.
std::string Describe(const Identity& identity);

}  // namespace cubby

#endif  // CUBBY_POOL_IDENTITY_H_
