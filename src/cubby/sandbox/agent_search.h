// Searches of a sandbox, over its agent.
#ifndef CUBBY_SANDBOX_AGENT_SEARCH_H_
#define CUBBY_SANDBOX_AGENT_SEARCH_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cubby/sandbox.h"
#include "cubby/sandbox/agent_link.h"

namespace cubby {

absl::StatusOr<SearchSummary> ListOverAgent(AgentLink* link, absl::string_view root,
                                            const ListOptions& options,
                                            const ResultSink<FileInfo>& sink);
absl::StatusOr<SearchSummary> GlobOverAgent(AgentLink* link, absl::string_view root,
                                            absl::string_view pattern, const GlobOptions& options,
                                            const ResultSink<GlobMatch>& sink);
absl::StatusOr<SearchSummary> GrepOverAgent(AgentLink* link, absl::string_view root,
                                            absl::string_view pattern, const GrepOptions& options,
                                            const ResultSink<GrepMatch>& sink);

// As the protocol says it.
FileInfo ToFileInfo(wire::File file);

}  // namespace cubby

#endif  // CUBBY_SANDBOX_AGENT_SEARCH_H_
