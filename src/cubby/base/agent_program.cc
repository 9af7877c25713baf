#include "cubby/base/agent_program.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cubby/base/file.h"
#include "cubby/base/path.h"

namespace cubby {
namespace {

constexpr char kName[] = "cubby-agent";

}  // namespace

absl::StatusOr<std::string> FindAgentProgram(const std::string& wanted) {
  std::vector<std::string> candidates;
  const char* variable = getenv("CUBBY_AGENT");
  if (!wanted.empty()) {
    candidates = {wanted};
  } else if (variable != nullptr && *variable != '\0') {
    candidates = {variable};
  } else {
    char program[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof(program));
    if (n > 0) {
      const absl::string_view folder = Dirname({program, static_cast<size_t>(n)});
      candidates.push_back(JoinPath(folder, kName));
      candidates.push_back(absl::StrCat(Dirname(folder), "/libexec/cubby/", kName));
    }
    candidates.push_back(absl::StrCat(CUBBY_LIBEXEC_DIR, "/", kName));
  }
  for (std::string& candidate : candidates) {
    // The runtime mounts it by this path, from another working directory.
    char absolute[PATH_MAX];
    if (realpath(candidate.c_str(), absolute) != nullptr) return std::string(absolute);
  }
  return absl::NotFoundError(absl::StrCat("the guest program ", kName, " is not at ",
                                          absl::StrJoin(candidates, ", "),
                                          "; set CUBBY_AGENT to its path"));
}

}  // namespace cubby
