// Getting an image into the store, with its progress on standard error.
#ifndef CUBBY_CLI_PULL_H_
#define CUBBY_CLI_PULL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cubby/cli/context.h"
#include "cubby/cli/declaration.h"
#include "cubby/image/store.h"

namespace cubby::cli {

struct PullFlags {
  std::string policy = "missing";  // or "always", "never"
  bool plain_http = false;
};
std::vector<Option> PullFlagDeclarations(PullFlags* flags);

absl::StatusOr<ImageInfo> PullWithProgress(Context& context, const std::string& reference,
                                           PullOptions options);

// Pulls `reference` when the policy says so. NOT_FOUND tells what to do when it must not.
absl::StatusOr<ImageInfo> EnsureImage(Context& context, const std::string& reference,
                                      const PullFlags& flags);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_PULL_H_
