#include "cubby/cli/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cubby::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ParserTest : public ::testing::Test {
 protected:
  ParserTest() {
    root_.name = "cubby";
    root_.options = {Flag("--json", &json_, "json"), Text("--state-dir", "DIR", &state_, "dir"),
                     Flag("-h,--help", &help_, "help")};
    Verb run{.name = "run",
             .options = {Text("--image", "I", &image_, "image"), Size("-m,--memory", &memory_, "m"),
                         Texts("-e,--env", "K=V", &env_, "env"), Flag("-i", &interactive_, "i"),
                         Flag("-t", &terminal_, "t"),
                         Choice("--pull", "WHEN", &pull_, {"always", "never"}, "pull")},
             .positionals = {Word("IMAGE", &image_, Completes::kImage, "image", Need::kOptional)},
             .command_words = CommandWords::kAccepted,
             .run = [](Context&) { return 0; }};
    run.positionals[0].replaced_by_option = "image";
    Verb rm{.name = "rm",
            .positionals = {Words("ID", &ids_, Completes::kSandbox, "ids", Need::kOptional)},
            .run = [](Context&) { return 0; }};
    Verb cp{.name = "cp",
            .positionals = {Word("FROM", &from_, Completes::kFile, "from"),
                            Word("TO", &to_, Completes::kFile, "to")},
            .run = [](Context&) { return 0; }};
    Verb image{.name = "image", .verbs = {rm}};
    root_.verbs = {run, rm, cp, image};
  }

  Verb root_;
  bool json_ = false, help_ = false, interactive_ = false, terminal_ = false;
  std::string state_, image_ = "default", pull_ = "missing", from_, to_;
  int64_t memory_ = 1 << 20;
  std::vector<std::string> env_, ids_;
};

TEST_F(ParserTest, OptionsStandBeforeAndAfterTheVerb) {
  const auto parsed = Parse(root_, {"--state-dir", "/s", "run", "--json", "-m", "2M", "--", "ls"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->path, "run");
  EXPECT_EQ(state_, "/s");
  EXPECT_TRUE(json_);
  EXPECT_EQ(memory_, 2 << 20);
  EXPECT_THAT(parsed->command, ElementsAre("ls"));
  EXPECT_EQ(image_, "default");
}

TEST_F(ParserTest, TheCommandKeepsItsOwnOptionsAndDashes) {
  const auto parsed = Parse(root_, {"run", "img", "--", "sh", "-c", "x", "--", "--json", ""});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(image_, "img");
  EXPECT_FALSE(json_);
  EXPECT_THAT(parsed->command, ElementsAre("sh", "-c", "x", "--", "--json", ""));
}

TEST_F(ParserTest, WithoutDashesTheCommandStartsAfterThePositionals) {
  auto parsed = Parse(root_, {"run", "img", "ls", "-l"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(image_, "img");
  EXPECT_THAT(parsed->command, ElementsAre("ls", "-l"));

  parsed = Parse(root_, {"run", "--image", "other", "ls", "--json"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(image_, "other");
  EXPECT_THAT(parsed->command, ElementsAre("ls", "--json"));
  EXPECT_FALSE(json_);
}

TEST_F(ParserTest, RepeatedAndCombinedOptions) {
  const auto parsed = Parse(root_, {"run", "-e", "A=1", "-it", "-eB=x=y", "--env=C=", "--memory",
                                    "1M", "-m", "3M", "--", "true"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(env_, ElementsAre("A=1", "B=x=y", "C="));
  EXPECT_TRUE(interactive_);
  EXPECT_TRUE(terminal_);
  EXPECT_EQ(memory_, 3 << 20) << "the last one wins";
}

TEST_F(ParserTest, ValuesKeepEveryByte) {
  const std::string odd = "A=a b,c;[d]{e}\n\"'%\xff";
  const auto parsed = Parse(root_, {"run", "-e", odd, "-e", "[A=1,B=2]", "--", "true"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(env_, ElementsAre(odd, "[A=1,B=2]"));
}

TEST_F(ParserTest, PositionalsAfterDashesMayLookLikeOptions) {
  const auto parsed = Parse(root_, {"cp", "--", "-strange", "--json"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(from_, "-strange");
  EXPECT_EQ(to_, "--json");
  EXPECT_TRUE(Parse(root_, {"cp", "-", "x"}).ok());
  EXPECT_EQ(from_, "-");
}

TEST_F(ParserTest, NestedVerbsAndManyPositionals) {
  const auto parsed = Parse(root_, {"image", "rm", "a", "b", "c"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->path, "image rm");
  EXPECT_THAT(ids_, ElementsAre("a", "b", "c"));
  EXPECT_THAT(parsed->command, IsEmpty());
}

TEST_F(ParserTest, MistakesNameTheWord) {
  const auto error = [this](const std::vector<std::string>& words) {
    const auto parsed = Parse(root_, words);
    EXPECT_FALSE(parsed.ok());
    return std::string(parsed.ok() ? "" : parsed.status().message());
  };
  EXPECT_THAT(error({"rnu"}), HasSubstr("'rnu'"));
  EXPECT_THAT(error({"image", "push"}), HasSubstr("'image push'"));
  EXPECT_THAT(error({"run", "--imag", "x"}), HasSubstr("--imag"));
  EXPECT_THAT(error({"run", "-m", "lots", "--", "true"}), HasSubstr("lots"));
  EXPECT_THAT(error({"run", "--pull", "maybe"}), HasSubstr("always, never"));
  EXPECT_THAT(error({"run", "--image"}), HasSubstr("--image"));
  EXPECT_THAT(error({"cp", "one"}), HasSubstr("TO"));
  EXPECT_THAT(error({"cp", "one", "two", "three"}), HasSubstr("three"));
}

TEST_F(ParserTest, HelpIsAskedForWhateverElseIsMissing) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"cp", "--help"}, {"-h"}, {"image", "-h"}, {"run", "-h", "x"}}) {
    const auto parsed = Parse(root_, words);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_TRUE(parsed->help);
  }
  const auto parsed = Parse(root_, {"run", "img", "--", "ls", "--help"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_FALSE(parsed->help);
}

}  // namespace
}  // namespace cubby::cli
