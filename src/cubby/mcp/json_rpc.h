// mcp/: an MCP server: the tools of tools/ and the sandboxes of pool/ for a coding agent.
//
// json_rpc.h is the messages, line_io.h their way over stdio, server.h the protocol (revisions
// 2024-11-05 to 2025-11-25 of the Model Context Protocol), session.h the sandboxes of one session
// and what is offered on them. May use tools/, pool/ and what is below; it must not know of the
// command line, and never prints: standard output is the protocol's.
#ifndef CUBBY_MCP_JSON_RPC_H_
#define CUBBY_MCP_JSON_RPC_H_

#include <string>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace cubby::mcp {

using Json = nlohmann::json;

// JSON-RPC 2.0, section 5.1, and MCP's own.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kResourceNotFound = -32002;

inline constexpr int kMaxJsonDepth = 64;

struct Message {
  enum class Kind { kRequest, kNotification, kResponse, kMalformed };
  Kind kind = Kind::kMalformed;
  Json id;  // a string or an integer; null of a malformed one whose id cannot be told
  std::string method;
  Json params = Json::object();
  int error = 0;  // of a malformed one
  std::string why;
};

// Any bytes give a message.
Message ParseMessage(absl::string_view line);

Json ResultOf(const Json& id, Json result);
Json ErrorOf(const Json& id, int code, absl::string_view message);
Json Notification(absl::string_view method, Json params);

// One line, with U+FFFD for what is not UTF-8.
std::string ToLine(const Json& message);

}  // namespace cubby::mcp

#endif  // CUBBY_MCP_JSON_RPC_H_
