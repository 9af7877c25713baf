// Files of a sandbox as MCP shows them.
#ifndef CUBBY_MCP_RESOURCES_H_
#define CUBBY_MCP_RESOURCES_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "cubby/mcp/json_rpc.h"

namespace cubby::mcp {

inline constexpr char kOutputs[] = "/mnt/user-data/outputs";

// By the name's ending; "application/octet-stream" when it says nothing.
std::string MimeTypeOf(absl::string_view path);

// "cubby://<sandbox><path>", the path percent-encoded: names are bytes.
std::string UriOf(absl::string_view sandbox_id, absl::string_view path);
struct ResourceName {
  std::string sandbox_id;
  std::string path;
};
std::optional<ResourceName> ParseUri(absl::string_view uri);

// {"uri", "mimeType", "text" or "blob"}
Json ResourceContents(absl::string_view uri, absl::string_view path, absl::string_view bytes);

// An item of a tool's content: an image as an image, text as text, anything else as a resource.
Json ContentOf(absl::string_view uri, absl::string_view path, absl::string_view bytes);

}  // namespace cubby::mcp

#endif  // CUBBY_MCP_RESOURCES_H_
