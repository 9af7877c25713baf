#include "cubby/tools/toolbox.h"

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"

namespace cubby::tools {

Parameter DescriptionParameter() {
  return {.name = "description",
          .help = "in a few words, why this is done; for people who read along"};
}

const std::vector<Tool>& AllTools() {
  static const auto* const tools = new std::vector<Tool>{
      BashTool(),       LsTool(),   ReadFileTool(), WriteFileTool(),
      StrReplaceTool(), GlobTool(), GrepTool(),
  };
  return *tools;
}

absl::StatusOr<ToolResult> CallTool(const std::string& name, const ToolContext& context,
                                    const Json& arguments) {
  for (const Tool& tool : AllTools()) {
    if (tool.name != name) continue;
    CUBBY_ASSIGN_OR_RETURN(const Json checked, CheckArguments(tool, arguments));
    return tool.run(context, checked);
  }
  return absl::NotFoundError(absl::StrCat("there is no tool ", name));
}

}  // namespace cubby::tools
