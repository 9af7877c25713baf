// Standard input as the content of a sandbox's file.
#ifndef CUBBY_CLI_INPUT_H_
#define CUBBY_CLI_INPUT_H_

#include <stdint.h>

#include <string>

#include "absl/status/statusor.h"
#include "cubby/cli/context.h"
#include "cubby/sandbox.h"

namespace cubby::cli {

// Until end of file; returns how many bytes there were.
absl::StatusOr<int64_t> WriteFromInput(const Context& context, Sandbox& sandbox,
                                       const std::string& path, const WriteOptions& options);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_INPUT_H_
