// The requests about files.
#ifndef CUBBY_AGENT_FILES_H_
#define CUBBY_AGENT_FILES_H_

#include "absl/status/status.h"
#include "cubby/agent/connection.h"
#include "cubby/agent/guest_files.h"
#include "cubby/agent/settings.h"
#include "cubby/agent/task.h"

namespace cubby::agent {

class Files {
 public:
  Files(const GuestFiles* files, const Settings* settings) : files_(files), settings_(settings) {}

  Task<absl::Status> Read(StreamPtr stream, wire::ReadFile request);
  Task<absl::Status> Write(StreamPtr stream, wire::WriteFile request);
  Task<absl::Status> Stat(StreamPtr stream, wire::Stat request);
  absl::Status MakeDir(const wire::MakeDir& request);
  Task<absl::Status> Remove(StreamPtr stream, wire::Remove request);
  absl::Status Rename(const wire::Rename& request);

 private:
  Task<absl::Status> Append(StreamPtr stream, wire::WriteFile request);
  Task<absl::Status> Replace(StreamPtr stream, wire::WriteFile request);

  const GuestFiles* files_;
  const Settings* settings_;
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_FILES_H_
