// Copies files and folders between this machine and a sandbox, as `cp -r` does.
//
// A sandbox is hostile: names that it gives are checked, no symlink of the destination is followed,
// set-id bits are dropped. Content streams; memory holds one folder's names per level.
#ifndef CUBBY_CLI_COPY_H_
#define CUBBY_CLI_COPY_H_

#include <stdint.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cubby/sandbox.h"

namespace cubby::cli {

struct CopyReport {
  struct Skipped {
    std::string path;
    std::string reason;
  };
  int64_t files = 0;
  int64_t directories = 0;
  int64_t symlinks = 0;
  int64_t bytes = 0;
  std::vector<Skipped> skipped;  // at most kMaxSkipped of them
  int64_t skipped_count = 0;

  static constexpr size_t kMaxSkipped = 1000;
  void Skip(std::string path, absl::string_view reason);
};

// The rules of cp: a folder that is there takes the copy in; otherwise the copy gets the
// destination's name. A source that ends in "/." is the content of the folder.
absl::Status CopyIn(const std::string& host_source, Sandbox& sandbox,
                    const std::string& destination, CopyReport* report);
// CANCELLED as soon as `cancelled` says so; nothing half-written stays. (Into a sandbox the agent
// sees to that, also when this process is killed.)
using Cancelled = std::function<bool()>;
absl::Status CopyOut(Sandbox& sandbox, const std::string& source,
                     const std::string& host_destination, const Cancelled& cancelled,
                     CopyReport* report);

// Whether it is a folder, by what a symlink points to.
absl::StatusOr<bool> IsFolderInSandbox(Sandbox& sandbox, const std::string& path);

// "dir/." means what is in the folder.
[[nodiscard]] bool MeansContent(absl::string_view path);

const char* FileTypeName(FileType type);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_COPY_H_
