// What is generated from the declarations is accepted by the programs that it is for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/base/file.h"
#include "cubby/base/subprocess.h"
#include "cubby/cli/command_line.h"
#include "cubby/cli/completion.h"
#include "cubby/cli/help.h"
#include "cubby/cli/man_page.h"

namespace cubby::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

CommandOutput RunProgram(std::vector<std::string> argv, const std::string& input) {
  auto output =
      RunCommand({.argv = std::move(argv), .environment = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}},
                 Deadline::After(absl::Seconds(30)), input);
  EXPECT_TRUE(output.ok()) << output.status();
  return output.ok() ? *output : CommandOutput{.status = {.code = -1}};
}

// What bash would offer for the last word.
std::vector<std::string> Offers(const std::vector<std::string>& words) {
  std::string script = BashCompletion(CommandLine().root());
  // The command itself answers for ids and images.
  script +=
      "cubby() { case \"$1\" in ps) echo aa11 ;; image) echo img ;; executions) echo e-$3 ;; "
      "esac; }\ncompopt() { :; }\nCOMP_WORDS=(";
  for (const std::string& word : words) absl::StrAppend(&script, "'", word, "' ");
  absl::StrAppend(&script, ")\nCOMP_CWORD=", words.size() - 1,
                  "\n_cubby\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
  const CommandOutput output = RunProgram({"bash", "-s"}, script);
  EXPECT_EQ(output.err, "");
  return absl::StrSplit(output.out, '\n', absl::SkipEmpty());
}

TEST(Generated, BashReadsTheCompletion) {
  const CommandOutput output =
      RunProgram({"bash", "-n", "/dev/stdin"}, BashCompletion(CommandLine().root()));
  EXPECT_TRUE(output.status.success()) << output.err;
}

TEST(Generated, CompletionOffersVerbsOptionsAndValues) {
  EXPECT_THAT(Offers({"cubby", "r"}), ElementsAre("run", "rm", "read"));
  EXPECT_THAT(Offers({"cubby", "image", "pr"}), ElementsAre("prune"));
  EXPECT_THAT(Offers({"cubby", "run", "--me"}), ElementsAre("--memory"));
  EXPECT_THAT(Offers({"cubby", "--json", "run", "--pull", ""}),
              ElementsAre("missing", "always", "never"));
  EXPECT_THAT(Offers({"cubby", "exec", ""}), ElementsAre("aa11"));
  EXPECT_THAT(Offers({"cubby", "rm", "x", "y", "a"}), ElementsAre("aa11"));
  EXPECT_THAT(Offers({"cubby", "run", "--image", ""}), ElementsAre("img"));
  EXPECT_THAT(Offers({"cubby", "attach", "bb", ""}), ElementsAre("e-bb"));
  EXPECT_THAT(Offers({"cubby", "cp", "a"}), Contains("aa11:"));
  EXPECT_THAT(Offers({"cubby", "exec", "aa", "--", "--js"}), Not(Contains("--json")));
}

TEST(Generated, ZshReadsTheCompletion) {
  const std::string script = ZshCompletion(CommandLine().root());
  EXPECT_EQ(script.rfind("#compdef cubby\n", 0), 0U);
  EXPECT_EQ(script.find("$path"), std::string::npos) << "zsh binds it to $PATH";
  if (!FindProgram("zsh").ok()) GTEST_SKIP() << "zsh is not installed";
  const CommandOutput output = RunProgram({"zsh", "-n", "/dev/stdin"}, script);
  EXPECT_TRUE(output.status.success()) << output.err;
}

TEST(Generated, GroffFindsNothingWrongInTheManPage) {
  const CommandOutput output =
      RunProgram({"groff", "-man", "-Tutf8", "-ww", "-z"}, ManPage(CommandLine().root()));
  EXPECT_TRUE(output.status.success());
  EXPECT_EQ(output.err, "");
}

TEST(Generated, EveryVerbAndOptionIsInHelpAndManuals) {
  const CommandLine command;
  const std::string man = ManPage(command.root());
  const std::string markdown = MarkdownManual(command.root());
  for (const Verb& verb : command.root().verbs) {
    EXPECT_THAT(HelpText(command.root(), command.root(), ""), HasSubstr(verb.name));
    if (verb.run == nullptr) continue;
    EXPECT_THAT(markdown, HasSubstr(absl::StrCat("### cubby ", verb.name, "\n")));
    const std::string help = HelpText(command.root(), verb, verb.name);
    for (const Option& option : verb.options) {
      EXPECT_THAT(help, HasSubstr(OptionSyntax(option)));
      EXPECT_THAT(markdown, HasSubstr(OptionSyntax(option)));
      EXPECT_EQ(option.help.back() == '.', false) << option.names;
    }
    for (absl::string_view line : absl::StrSplit(help, '\n')) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(Generated, TheManualInTheTreeIsCurrent) {
  const auto manual = ReadSmallFile(CUBBY_MANUAL);
  ASSERT_TRUE(manual.ok()) << manual.status();
  EXPECT_TRUE(*manual == MarkdownManual(CommandLine().root()))
      << "make it again: cubby man --markdown > docs/cli.md";
}

}  // namespace
}  // namespace cubby::cli
