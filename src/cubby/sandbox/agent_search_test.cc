// Searches over a real agent that runs on the host. How patterns match is tested in search/; here
// it is that nothing is lost, doubled or invented on the way, and that searches end.
#include "cubby/sandbox/agent_search.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cubby/sandbox/testing/host_sandbox.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AgentSearchTest : public HostSandboxTest {
 protected:
  void Write(const std::string& name, absl::string_view bytes = "") {
    const absl::Status status = sandbox_.WriteFile(Path(name), bytes);
    ASSERT_TRUE(status.ok()) << status;
  }
  std::vector<std::string> PathsOf(const absl::StatusOr<GlobResult>& result) {
    std::vector<std::string> paths;
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return paths;
    for (const GlobMatch& match : result->matches) {
      paths.push_back(match.path.substr(folder_.size() + 1));
    }
    return paths;
  }
  // `count` files "d0/f000000" ..., made by one command.
  void ManyFiles(int count) {
    const ExecResult made =
        Run(absl::StrCat("i=0; while [ $i -lt ", count,
                         " ]; do d=d$((i / 1000)); [ -d $d ] || mkdir $d; n=000000$i; "
                         ": > $d/f${n#${n%??????}}; i=$((i+1)); done"));
    ASSERT_EQ(made.exit_code, 0) << made.err.bytes;
  }
};

TEST_F(AgentSearchTest, GlobFindsInPathOrderAndNamesWhatItPassedOver) {
  Write("src/b.py");
  Write("src/a.py");
  Write("src/deep/er/c.py");
  Write("src/a.txt");
  Write("node_modules/x.py");
  Write("odd\n:name.py");
  const absl::StatusOr<GlobResult> result = sandbox_.Glob(folder_, "**/*.py");
  EXPECT_THAT(PathsOf(result),
              ElementsAre("odd\n:name.py", "src/a.py", "src/b.py", "src/deep/er/c.py"));
  EXPECT_FALSE(result->summary.truncated());
  EXPECT_EQ(result->summary.results, 4);
  EXPECT_GE(result->summary.ignored, 1);
  EXPECT_THAT(PathsOf(sandbox_.Glob(folder_, "x.py", {.ignore = {.defaults = false}})),
              ElementsAre("node_modules/x.py"));
  EXPECT_THAT(PathsOf(sandbox_.Glob(folder_, "*.py", {.ignore = {.names = {"sr*"}}})),
              ElementsAre("odd\n:name.py"));
  EXPECT_THAT(PathsOf(sandbox_.Glob(folder_, "de*", {.include_directories = true})),
              ElementsAre("src/deep"));
  EXPECT_THAT(PathsOf(sandbox_.Glob(folder_, "src/*.py", {.rules = GlobRules::kCompat})),
              ElementsAre("src/a.py", "src/b.py"));
}

TEST_F(AgentSearchTest, ExactlyFullIsCompleteAndOneMoreIsNot) {  // F-33
  for (const char* name : {"a", "b", "c"}) Write(name, "needle\nneedle\n");
  EXPECT_FALSE(sandbox_.Glob(folder_, "*", {.max_results = 4})->summary.truncated());
  absl::StatusOr<GlobResult> cut = sandbox_.Glob(folder_, "*", {.max_results = 2});
  EXPECT_EQ(cut->matches.size(), 2u);
  EXPECT_EQ(cut->summary.truncation, Truncation::kLimit);
  cut = sandbox_.Glob(folder_, "*", {.max_results = 0});
  EXPECT_TRUE(cut->matches.empty());
  EXPECT_EQ(cut->summary.truncation, Truncation::kLimit);
  EXPECT_FALSE(sandbox_.Glob(folder_, "none", {.max_results = 0})->summary.truncated());
  EXPECT_EQ(sandbox_.Grep(folder_, "needle", {.max_results = 6})->summary.truncation,
            Truncation::kNone);
  EXPECT_EQ(sandbox_.Grep(folder_, "needle", {.max_results = 5})->summary.truncation,
            Truncation::kLimit);
  // F-34: one file with more than the limit.
  EXPECT_EQ(sandbox_.Grep(Path("a"), "needle", {.max_results = 1})->summary.truncation,
            Truncation::kLimit);
}

TEST_F(AgentSearchTest, GrepGivesLineColumnAndContext) {
  Write("f.txt", "one\ntwo Needle here\r\nthree\nfour\n");
  const absl::StatusOr<GrepResult> result =
      sandbox_.Grep(folder_, "needle", {.context_before = 5, .context_after = 1});
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->matches.size(), 1u);
  const GrepMatch& match = result->matches[0];
  EXPECT_EQ(match.path, Path("f.txt"));
  EXPECT_EQ(match.line, 2);
  EXPECT_EQ(match.column, 5);
  EXPECT_EQ(match.text, "two Needle here");
  EXPECT_EQ(match.text.substr(match.match_begin, match.match_end - match.match_begin), "Needle");
  ASSERT_EQ(match.before.size(), 1u);
  EXPECT_EQ(match.before[0].text, "one");
  ASSERT_EQ(match.after.size(), 1u);
  EXPECT_EQ(match.after[0].text, "three");
}

TEST_F(AgentSearchTest, WhatCannotBeFoundIsAnErrorThatSaysWhy) {
  Write("f");
  EXPECT_EQ(sandbox_.Glob(Path("no"), "*").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(sandbox_.Glob(Path("f"), "*").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(sandbox_.Glob("../x", "*").status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(sandbox_.Glob(folder_, "[a").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(sandbox_.Grep(folder_, "a(?=b)").status().message()), HasSubstr("look"));
  EXPECT_EQ(sandbox_.Grep(folder_, "a", {.context_before = 101}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sandbox_.Grep(folder_, "a", {.glob = "{a"}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sandbox_.Glob(folder_, "*", {.ignore = {.names = {"a/b"}}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(AgentSearchTest, ResultsOfAnySizeArriveWholeAndInOrder) {
  ManyFiles(20000);
  std::vector<std::string> paths;
  size_t batches = 0;
  const absl::StatusOr<SearchSummary> summary =
      sandbox_.GlobTo(folder_, "f*", {.max_results = 100000}, [&](absl::Span<GlobMatch> matches) {
        ++batches;
        for (GlobMatch& match : matches) paths.push_back(std::move(match.path));
        return true;
      });
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(paths.size(), 20000u);
  EXPECT_EQ(summary->results, 20000);
  EXPECT_GT(batches, 10u);
  EXPECT_EQ(std::set<std::string>(paths.begin(), paths.end()).size(), 20000u);
  // In path order within every folder: their names have equal lengths.
  EXPECT_TRUE(std::is_sorted(paths.begin(), paths.end()));
}

TEST_F(AgentSearchTest, ASinkThatWantsNoMoreEndsTheSearch) {
  ManyFiles(3000);
  int64_t seen = 0;
  const absl::StatusOr<SearchSummary> summary =
      sandbox_.GlobTo(folder_, "f*", {.max_results = 100000}, [&](absl::Span<GlobMatch> matches) {
        seen += static_cast<int64_t>(matches.size());
        return false;
      });
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->truncation, Truncation::kCancelled);
  EXPECT_EQ(summary->results, seen);
  EXPECT_LT(seen, 3000);
  // And the agent is ready for the next ones, more of them than it runs at once.
  std::vector<std::thread> callers;
  std::atomic<int> complete{0};
  for (int i = 0; i < 12; ++i) {
    callers.emplace_back([&] {
      const absl::StatusOr<GlobResult> all = sandbox_.Glob(folder_, "f*", {.max_results = 3000});
      if (all.ok() && all->matches.size() == 3000 && !all->summary.truncated()) ++complete;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(complete, 12);
}

TEST_F(AgentSearchTest, ADeadlineEndsTheSearchTruncated) {
  ManyFiles(20000);
  const absl::StatusOr<GrepResult> result =
      sandbox_.Grep(folder_, "never", {.timeout = absl::Milliseconds(1)});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->summary.truncation, Truncation::kDeadline);
}

TEST_F(AgentSearchTest, OddFilesAreNeverOpenedAndAlwaysCounted) {
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  Write("binary", absl::string_view("needle\0", 7));
  Write("large", std::string(1'000'001, 'x'));
  Write("fits", "needle");
  Run("ln -s fits link; truncate -s 50G sparse");
  const absl::StatusOr<GrepResult> result = sandbox_.Grep(folder_, "needle");
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->matches.size(), 1u);
  EXPECT_EQ(result->matches[0].path, Path("fits"));
  EXPECT_EQ(result->summary.skipped_special, 2) << "the FIFO, and the agent's socket";
  EXPECT_EQ(result->summary.skipped_symlinks, 1);
  EXPECT_EQ(result->summary.skipped_binary, 1);
  EXPECT_EQ(result->summary.skipped_too_large, 2);
  EXPECT_FALSE(result->summary.truncated());
}

TEST_F(AgentSearchTest, TheMachineAnswersOtherCallsDuringASearch) {
  ManyFiles(20000);
  std::atomic<bool> done{false};
  std::thread searcher([&] {
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(sandbox_.Grep(folder_, "never").ok());
    done = true;
  });
  int pings = 0;
  while (!done) {
    EXPECT_TRUE(sandbox_.Ping(absl::Seconds(5)).ok());
    ++pings;
  }
  searcher.join();
  EXPECT_GT(pings, 5);
}

TEST_F(AgentSearchTest, SearchesLeaveTheAgentSmall) {
  ManyFiles(5000);
  ASSERT_TRUE(sandbox_.Grep(folder_, "never").ok());  // what is made once is made
  const int64_t before = sandbox_.Stats()->agent_memory_bytes;
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(sandbox_.Grep(folder_, "never").ok());
  EXPECT_LT(sandbox_.Stats()->agent_memory_bytes, before + (1 << 20));
}

}  // namespace
}  // namespace cubby
