// The root file system of a container: shared layers below, its own writes on top.
#ifndef CUBBY_BACKEND_CONTAINER_OVERLAY_H_
#define CUBBY_BACKEND_CONTAINER_OVERLAY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cubby/base/state_dir.h"

namespace cubby {

// Makes the machine's folders and mounts. `layers` are lowest first; at most 400.
absl::Status MountOverlay(const std::vector<std::string>& layers, const MachinePaths& paths);

// Unmounts everything that is mounted at or below a folder, also in several layers. Fine when
// nothing is.
absl::Status UnmountAll(const std::string& folder);

}  // namespace cubby

#endif  // CUBBY_BACKEND_CONTAINER_OVERLAY_H_
