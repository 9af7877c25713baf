// What a directory entry is, as the protocol says it.
#ifndef CUBBY_AGENT_FILE_INFO_H_
#define CUBBY_AGENT_FILE_INFO_H_

#include <sys/stat.h>

#include <string>

#include "absl/status/status.h"
#include "cubby/wire/agent.pb.h"

namespace cubby::agent {

// What lstat(2) says, as the protocol says it; `file` has its path already.
void Describe(const struct stat& st, wire::File* file);

// Of the entry itself, also when it is a symlink. `path` is what the client calls it.
absl::Status StatEntry(int directory, const std::string& name, const std::string& path,
                       wire::File* file);

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_FILE_INFO_H_
