// Tells a client what changes below a folder (inotify(7)).
#ifndef CUBBY_AGENT_WATCH_H_
#define CUBBY_AGENT_WATCH_H_

#include "absl/status/status.h"
#include "cubby/agent/connection.h"
#include "cubby/agent/guest_files.h"
#include "cubby/agent/task.h"

namespace cubby::agent {

// Recursive; folders that appear are watched too, and what is already in them when they are is
// reported as created. At most 65,536 folders: more is RESOURCE_EXHAUSTED. Runs until the client
// cancels. A client that reads too slowly gets one overflow change in place of what was lost.
Task<absl::Status> WatchFolder(EventLoop* loop, const GuestFiles* files, StreamPtr stream,
                               std::string path);

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_WATCH_H_
