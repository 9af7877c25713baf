// The tools over a real agent that runs on the host.
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cubby/sandbox/testing/host_sandbox.h"
#include "cubby/tools/toolbox.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby::tools {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ToolsTest : public HostSandboxTest {
 protected:
  ToolsTest() { settings_.working_directory = folder_; }

  ToolResult Call(const std::string& tool, const Json& arguments) {
    const absl::StatusOr<ToolResult> result = CallTool(
        tool, {.sandbox = &sandbox_, .settings = &settings_, .locks = &locks_, .secrets = secrets_},
        arguments);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : ToolResult{};
  }
  std::string Text(const std::string& tool, const Json& arguments) {
    return Call(tool, arguments).text;
  }
  void Write(const std::string& name, absl::string_view bytes) {
    ASSERT_TRUE(sandbox_.WriteFile(Path(name), bytes).ok());
  }
  std::string Content(const std::string& name) { return sandbox_.ReadFile(Path(name))->bytes; }

  ToolSettings settings_;
  FileLocks locks_;
  std::map<std::string, std::string> secrets_;
};

TEST_F(ToolsTest, EveryToolDeclaresItself) {  // T-1
  std::vector<std::string> names;
  for (const Tool& tool : AllTools()) {
    names.push_back(tool.name);
    const Json schema = InputSchema(tool);
    EXPECT_EQ(schema["type"], "object");
    EXPECT_TRUE(schema["properties"].contains("description"));
    for (const Parameter& parameter : tool.parameters) EXPECT_FALSE(parameter.help.empty());
  }
  EXPECT_THAT(names, testing::ElementsAre("bash", "ls", "read_file", "write_file", "str_replace",
                                          "glob", "grep"));
}

TEST_F(ToolsTest, WrongArgumentsAreNamedAllAtOnce) {
  const ToolContext context{.sandbox = &sandbox_, .settings = &settings_, .locks = &locks_};
  const absl::Status status =
      CallTool("grep", context, {{"patern", "x"}, {"literal", "yes"}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const char* part : {"no patern", "literal must be a boolean", "pattern is needed"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
  EXPECT_EQ(CallTool("cat", context, Json::object()).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ToolsTest, BashSaysWhatHappened) {  // T-14, C-12
  ToolResult result = Call("bash", {{"command", "echo out; echo err >&2; exit 3"}});
  EXPECT_EQ(result.text, "out\n\nStd Error:\nerr\n\nExit Code: 3");
  EXPECT_EQ(result.structured["exit_code"], 3);
  EXPECT_EQ(result.structured["stdout"]["text"], "out\n");
  EXPECT_FALSE(result.is_error) << "a command that fails is an answer";
  settings_.bash_output_max_chars = 200;
  EXPECT_THAT(Text("bash", {{"command", "seq 10000"}}), HasSubstr("characters skipped"));
  result = Call("bash", {{"command", "sleep 100"}, {"timeout_seconds", 1}});
  EXPECT_THAT(result.text, StartsWith("Command timed out after 1 second"));
  EXPECT_EQ(result.structured["timed_out"], true);
}

TEST_F(ToolsTest, SecretsReachTheCommandAndNotTheModel) {  // T-10, E-6
  secrets_ = {{"TOKEN", "0123456789-secret"}};
  settings_.bash_output_max_chars = 60;
  const ToolResult result =
      Call("bash", {{"command", "echo $TOKEN; echo $TOKEN | base64; echo $TOKEN >&2"}});
  EXPECT_THAT(result.text, HasSubstr("[redacted]"));
  EXPECT_THAT(result.text, Not(HasSubstr("0123")));
  EXPECT_THAT(result.structured.dump(), Not(HasSubstr("0123")));
  EXPECT_THAT(result.structured.dump(), Not(HasSubstr("MDEyMzQ1")));
}

TEST_F(ToolsTest, FilesAreReadInRangesAndCut) {  // T-40, T-41, T-42, D-36
  Write("f", "one\n\nthree\n");
  EXPECT_EQ(Text("read_file", {{"path", Path("f")}}), "one\n\nthree\n");
  EXPECT_EQ(Text("read_file", {{"path", Path("f")}, {"start_line", 2}, {"end_line", 2}}), "\n");
  EXPECT_THAT(Text("read_file", {{"path", Path("f")}, {"start_line", 4}}),
              HasSubstr("past the end"));
  EXPECT_EQ(Text("read_file", {{"path", Path("f")}, {"start_line", 0}}),
            "(start_line must be at least 1)");
  EXPECT_EQ(Text("read_file", {{"path", Path("f")}, {"start_line", 3}, {"end_line", 2}}),
            "(start_line is after end_line)");
  Write("empty", "");
  EXPECT_EQ(Text("read_file", {{"path", Path("empty")}}), "(empty)");
  Write("binary", absl::string_view("\x89PNG\0\1", 6));
  EXPECT_THAT(Text("read_file", {{"path", Path("binary")}}), HasSubstr("looks like a binary file"));
  settings_.read_file_output_max_chars = 300;
  Write("long", std::string(5 << 20, 'x'));
  const ToolResult cut = Call("read_file", {{"path", Path("long")}});
  EXPECT_THAT(cut.text, HasSubstr("of 5242880 characters"));
  EXPECT_EQ(cut.text.size(), 300u);
  EXPECT_EQ(cut.structured["truncated"], true);
  EXPECT_EQ(Text("read_file", {{"path", "/no/such"}}),
            "Error: File or directory not found: /no/such");
}

TEST_F(ToolsTest, TextThatLooksLikeAnErrorIsText) {  // D-24
  Write("f", "Error: not really\n");
  const ToolResult result = Call("read_file", {{"path", Path("f")}});
  EXPECT_EQ(result.text, "Error: not really\n");
  EXPECT_FALSE(result.is_error);
}

TEST_F(ToolsTest, FilesAreWrittenWithASizeGuard) {  // T-50, T-51
  EXPECT_EQ(Text("write_file", {{"path", Path("new/f")}, {"content", "a\r\n"}}), "OK");
  EXPECT_EQ(Text("write_file", {{"path", Path("new/f")}, {"content", "b"}, {"append", true}}),
            "OK");
  EXPECT_EQ(Content("new/f"), "a\r\nb");
  const std::string large(81921, 'x');
  ToolResult result = Call("write_file", {{"path", Path("large")}, {"content", large}});
  EXPECT_TRUE(result.is_error);
  EXPECT_THAT(result.text, HasSubstr("append"));
  EXPECT_EQ(Text("write_file", {{"path", Path("large")}, {"content", large}, {"append", true}}),
            "OK");
  settings_.write_file_max_bytes = 0;
  EXPECT_EQ(Text("write_file", {{"path", Path("large")}, {"content", large}}), "OK");
  result = Call("write_file", {{"path", Path("new")}, {"content", ""}});
  EXPECT_THAT(result.text, StartsWith(absl::StrCat("Error: could not write ", Path("new"))));
  EXPECT_LE(result.text.size(), 2000u);
}

TEST_F(ToolsTest, OnlyAUniquePieceIsReplacedAndTheRestStays) {  // T-52, D-33, D-34, D-45
  Write("f", "a\xff\r\nx = 1\r\ny = 1\r\n");
  const auto replace = [&](const char* from, const char* to, bool all = false) {
    return Text("str_replace",
                {{"path", Path("f")}, {"old_str", from}, {"new_str", to}, {"replace_all", all}});
  };
  EXPECT_THAT(replace("= 1", "= 2"), HasSubstr("2 times"));
  EXPECT_EQ(replace("x = 1\ny", "x = 3\nz"), "OK") << "LF stands for the file's CR LF";
  EXPECT_EQ(Content("f"), "a\xff\r\nx = 3\r\nz = 1\r\n");
  EXPECT_EQ(replace("\r\n", "\n", true), "OK");
  EXPECT_EQ(Content("f"), "a\xff\nx = 3\nz = 1\n");
  EXPECT_THAT(replace("missing", ""), HasSubstr(Path("f")));
  EXPECT_EQ(replace("", "x"), "OK") << "nothing is asked for";
  EXPECT_THAT(Text("str_replace", {{"path", Path("no")}, {"old_str", ""}, {"new_str", ""}}),
              StartsWith("Error: File or directory not found"));
}

TEST_F(ToolsTest, ParallelEditsOfOneFileLoseNothing) {  // T-53, D-46
  std::string text;
  for (int i = 0; i < 8; ++i) absl::StrAppend(&text, "line", i, "\n");
  Write("f", text);
  std::vector<std::thread> editors;
  std::atomic<int> done{0};
  for (int i = 0; i < 8; ++i) {
    editors.emplace_back([&, i] {
      // By another spelling of the path.
      const std::string path = i % 2 == 0 ? Path("f") : absl::StrCat(folder_, "//./f");
      for (int round = 0; round < 10; ++round) {
        const std::string from =
            absl::StrCat("line", i, round == 0 ? "" : absl::StrCat("-", round), "\n");
        const std::string to = absl::StrCat("line", i, "-", round + 1, "\n");
        if (Text("str_replace", {{"path", path}, {"old_str", from}, {"new_str", to}}) == "OK")
          ++done;
      }
    });
  }
  for (std::thread& editor : editors) editor.join();
  EXPECT_EQ(done, 80);
  std::string expected;
  for (int i = 0; i < 8; ++i) absl::StrAppend(&expected, "line", i, "-10\n");
  EXPECT_EQ(Content("f"), expected);
  EXPECT_EQ(locks_.size(), 0u) << "locks vanish when unused";
}

TEST_F(ToolsTest, SearchesAreWordedTruthfully) {  // T-30, T-31, T-32, F-32
  for (int i = 0; i < 5; ++i) Write(absl::StrCat("s/f", i, ".py"), "needle\n");
  Write("s/node_modules/x.py", "needle\n");
  const std::string root = Path("s");
  EXPECT_THAT(Text("glob", {{"pattern", "*.py"}, {"path", root}}),
              StartsWith(absl::StrCat("Found 5 paths under ", root, "\n1. ", root, "/f0.py\n")));
  const std::string cut = Text("glob", {{"pattern", "*.py"}, {"path", root}, {"max_results", 2}});
  EXPECT_THAT(cut, HasSubstr("(showing first 2)"));
  EXPECT_THAT(cut, EndsWith("There are more. Narrow the path or the pattern.\n"));
  EXPECT_THAT(Text("glob", {{"pattern", "*.rs"}, {"path", root}}),
              StartsWith(absl::StrCat("no path that matches *.rs was found under ", root)));
  EXPECT_THAT(Text("grep", {{"pattern", "needle"}, {"path", root}}),
              HasSubstr(absl::StrCat(root, "/f4.py:1: needle\n")));
  settings_.grep_max_results = 3;
  EXPECT_EQ(Call("grep", {{"pattern", "needle"}, {"path", root}, {"max_results", 400}})
                .structured["matches"]
                .size(),
            3u);
  EXPECT_THAT(Text("grep", {{"pattern", "a(?=b)"}, {"path", root}}), StartsWith("Error: "));
  EXPECT_THAT(Text("grep", {{"pattern", "a"}, {"path", "/no/such"}}),
              StartsWith("Error: File or directory not found"));
}

TEST_F(ToolsTest, AFolderIsListedAndAMissingOneIsAnError) {  // T-20, D-40
  Write("d/sub/f", "x");
  EXPECT_EQ(Text("ls", {{"path", Path("d")}}),
            absl::StrCat(Path("d/sub"), "/\n", Path("d/sub/f"), "\n"));
  ASSERT_TRUE(sandbox_.MakeDir(Path("empty")).ok());
  EXPECT_EQ(Text("ls", {{"path", Path("empty")}}), "(empty)");
  EXPECT_THAT(Text("ls", {{"path", Path("missing")}}), StartsWith("Error: "));
  settings_.ls_output_max_chars = 150;
  for (int i = 0; i < 50; ++i) Write(absl::StrCat("many/file", i), "");
  EXPECT_THAT(Text("ls", {{"path", Path("many")}}), HasSubstr("Use a more specific path."));
}

}  // namespace
}  // namespace cubby::tools
