// Searches in a sandbox, of trees that are mounted into it, against the tools of the host on the
// same trees. cubby-search-bench measures the engine alone, in more cases.
#include <stdlib.h>

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rows.h"
#include "search_peers.h"
#include "search_trees.h"

namespace cubby::bench {
namespace {

constexpr int kRounds = 7;
constexpr int64_t kAll = 1'000'000;
constexpr char kTree[] = "/tree";

struct Trees {
  std::string checkout;
  std::string sources;
  std::string million;
  std::string ignore_file;
};

// Made at the first use: a run that measures other rows does not wait for them.
const Trees& MadeTrees(Workshop& workshop) {
  static const Trees* const trees = [&] {
    auto* made = new Trees{workshop.folder() + "/checkout", workshop.folder() + "/sources",
                           workshop.folder() + "/million", workshop.folder() + "/ignore"};
    if (!MakeCheckout(made->checkout).ok() || !MakeSources(made->sources).ok() ||
        !MakeMillion(made->million).ok() ||
        !WriteFileAtomically(made->ignore_file, IgnoreFileContent()).ok()) {
      Die("cannot make the trees that are searched");
    }
    return made;
  }();
  return *trees;
}

std::shared_ptr<Sandbox> MakeWith(Workshop& workshop, const std::string& tree) {
  return workshop.Make(
      {{.host_path = tree, .guest_path = kTree, .access = MountAccess::kReadOnly}});
}

size_t Globbed(Sandbox& sandbox) {
  const absl::StatusOr<GlobResult> result = sandbox.Glob(kTree, "**/*.py", {.max_results = kAll});
  if (!result.ok() || result->summary.truncated()) Die("glob failed");
  return result->matches.size();
}

size_t Grepped(Sandbox& sandbox, const std::string& pattern, GrepOptions options) {
  const absl::StatusOr<GrepResult> result = sandbox.Grep(kTree, pattern, options);
  if (!result.ok()) Die("grep failed");
  return result->matches.size();
}

GrepOptions Literal() {
  return {.syntax = PatternSyntax::kLiteral,
          .letter_case = LetterCase::kSensitive,
          .max_results = kAll};
}

// Ours and theirs in turns; both must find as much where `same_results`.
enum class Results { kSame, kMayDiffer };
struct Pair {
  std::vector<double> ours, theirs;
};
Pair InTurns(const std::function<size_t()>& ours, const std::vector<std::string>& theirs,
             Results results) {
  Pair times;
  for (int round = -1; round < kRounds; ++round) {  // the first warms the cache
    size_t found = 0;
    absl::StatusOr<uint64_t> lines;
    const double our_ms = absl::ToDoubleMilliseconds(TimeOf([&] { found = ours(); }));
    const double their_ms =
        absl::ToDoubleMilliseconds(TimeOf([&] { lines = CountLinesOf(theirs); }));
    if (!lines.ok()) Die(theirs[0] + " cannot be run");
    if (results == Results::kSame && found != *lines) {
      Die(absl::StrCat("we found ", found, ", ", theirs[0], " ", *lines));
    }
    if (round < 0) continue;
    times.ours.push_back(our_ms);
    times.theirs.push_back(their_ms);
  }
  return times;
}

Figure Ratio(const Pair& times, double value) {
  return {.ours = Ms(Median(times.ours)), .peers = Ms(Median(times.theirs)), .value = value};
}

uint32_t Cores() { return std::max(1U, std::thread::hardware_concurrency()); }

Figure GlobAgainstFd(Workshop& workshop) {
  const Trees& trees = MadeTrees(workshop);
  std::shared_ptr<Sandbox> sandbox = MakeWith(workshop, trees.checkout);
  const Pair times = InTurns([&] { return Globbed(*sandbox); }, FdCommand(trees.checkout, Cores()),
                             Results::kSame);
  workshop.Remove(sandbox);
  return Ratio(times, Median(times.ours) / Median(times.theirs));
}

Figure GrepAgainstRg(Workshop& workshop) {
  const Trees& trees = MadeTrees(workshop);
  std::shared_ptr<Sandbox> sandbox = MakeWith(workshop, trees.sources);
  const Pair times = InTurns(
      [&] { return Grepped(*sandbox, kRareText, Literal()); },
      RgCommand(trees.sources, trees.ignore_file, Cores(), {"-F", kRareText}), Results::kSame);
  workshop.Remove(sandbox);
  return Ratio(times, Median(times.ours) / Median(times.theirs));
}

Figure GrepAgainstPipeline(Workshop& workshop) {
  const Trees& trees = MadeTrees(workshop);
  std::shared_ptr<Sandbox> sandbox = MakeWith(workshop, trees.sources);
  const Pair times = InTurns([&] { return Grepped(*sandbox, kCommonRegex, {.max_results = 100}); },
                             PipelineCommand(trees.sources, kCommonRegex), Results::kMayDiffer);
  workshop.Remove(sandbox);
  return Ratio(times, Median(times.theirs) / Median(times.ours));
}

Figure FirstOfAMillion(Workshop& workshop) {
  std::shared_ptr<Sandbox> sandbox = MakeWith(workshop, MadeTrees(workshop).million);
  std::vector<double> firsts;
  for (int round = -1; round < kRounds; ++round) {
    const double first = absl::ToDoubleMilliseconds(TimeOf([&] {
      const absl::StatusOr<SearchSummary> summary =
          sandbox->GlobTo(kTree, "**/*.py", {}, [](absl::Span<GlobMatch>) { return false; });
      if (!summary.ok() || summary->results == 0) Die("glob failed");
    }));
    if (round >= 0) firsts.push_back(first);
  }
  workshop.Remove(sandbox);
  return {.ours = Ms(Median(firsts)), .value = Median(firsts)};
}

double StatusMib(int pid, const char* key) {
  const std::string text = ReadSmallFile(absl::StrCat("/proc/", pid, "/status")).value_or("");
  const size_t at = text.find(key);
  if (at == std::string::npos) Die("cannot read the agent's memory");
  return atof(text.c_str() + at + std::string(key).size()) / 1024;
}

Figure MemoryOfSearches(Workshop& workshop) {
  const Trees& trees = MadeTrees(workshop);
  double worst = 0;
  const auto measure = [&](const std::string& tree, const std::function<void(Sandbox&)>& work) {
    std::shared_ptr<Sandbox> sandbox = MakeWith(workshop, tree);
    const int pid = workshop.AgentPid(sandbox->id());
    const double idle = StatusMib(pid, "VmRSS:");
    WriteExisting(absl::StrCat("/proc/", pid, "/clear_refs"), "5").IgnoreError();
    work(*sandbox);
    worst = std::max(worst, StatusMib(pid, "VmHWM:") - idle);
    workshop.Remove(sandbox);
  };
  measure(trees.checkout, [](Sandbox& sandbox) { Globbed(sandbox); });
  measure(trees.sources, [](Sandbox& sandbox) {
    Grepped(sandbox, kRareText, Literal());
    Grepped(sandbox, kCommonRegex, {.max_results = kAll});
  });
  measure(trees.million, [](Sandbox& sandbox) {
    if (!sandbox.Glob(kTree, "**", {.max_results = kAll, .ignore = {.defaults = false}}).ok()) {
      Die("glob failed");
    }
  });
  return {.ours = absl::StrFormat("agent +%.1f MiB", worst), .value = worst};
}

}  // namespace

std::vector<Row> SearchRows() {
  return {{"search-glob", GlobAgainstFd},
          {"search-grep", GrepAgainstRg},
          {"search-cut", GrepAgainstPipeline},
          {"search-first", FirstOfAMillion},
          {"search-memory", MemoryOfSearches}};
}

}  // namespace cubby::bench
