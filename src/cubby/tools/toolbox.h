// All tools, by name.
#ifndef CUBBY_TOOLS_TOOLBOX_H_
#define CUBBY_TOOLS_TOOLBOX_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cubby/tools/tool.h"

namespace cubby::tools {

// In the order in which a model should read of them. Made once; the reference stays good.
const std::vector<Tool>& AllTools();

// Checks the arguments and runs the tool. NOT_FOUND: no such tool; INVALID_ARGUMENT: arguments that
// do not fit it. What fails in the sandbox is a result.
absl::StatusOr<ToolResult> CallTool(const std::string& name, const ToolContext& context,
                                    const Json& arguments);

Tool BashTool();
Tool LsTool();
Tool ReadFileTool();
Tool WriteFileTool();
Tool StrReplaceTool();
Tool GlobTool();
Tool GrepTool();

// The first parameter of every tool: why it is called, for those who read along. [T-1]
Parameter DescriptionParameter();

}  // namespace cubby::tools

#endif  // CUBBY_TOOLS_TOOLBOX_H_
