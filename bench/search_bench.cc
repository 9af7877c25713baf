// Search, measured against the best tools on the host: fd, ripgrep, and the pipeline of grep and
// head that other systems run. All searches pass over the same names, see the same answers (the
// numbers of results are compared), and take turns in one run.
//
//   cubby-search-bench [--dir FOLDER] [--rounds N] [--million]
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cubby/base/deadline.h"
#include "cubby/base/file.h"
#include "cubby/search/glob_search.h"
#include "cubby/search/grep_search.h"
#include "search_peers.h"
#include "search_trees.h"

namespace cubby::bench {
namespace {

using search::GlobPattern;
using search::IgnoreRules;
using search::LinePattern;
using search::PatternCase;
using search::PatternSyntax;
using search::SearchRoot;

[[noreturn]] void Die(const std::string& why) {
  fprintf(stderr, "search-bench: %s\n", why.c_str());
  exit(1);
}

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (!value.ok()) Die(std::string(value.status().message()));
  return *std::move(value);
}

void OrDie(const absl::Status& status) {
  if (!status.ok()) Die(std::string(status.message()));
}

SearchRoot OpenRoot(const std::string& path) {
  const unique_fd machine(open("/", O_PATH | O_CLOEXEC));
  return OrDie(SearchRoot::Open(machine.get(), path, path));
}

struct Contender {
  std::string name;
  std::function<uint64_t()> run;  // gives the number of results
  std::vector<absl::Duration> times = {};
  uint64_t results = 0;
};

absl::Duration Median(std::vector<absl::Duration> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// The first contender is ours; `goal` is the greatest ratio to each of the others, or the least
// when negative (ours must be so many times faster).
void Compare(const std::string& work, std::vector<Contender> contenders, int rounds, double goal) {
  for (int round = -1; round < rounds; ++round) {  // the first warms the cache
    for (Contender& contender : contenders) {
      const absl::Duration start = MonotonicNow();
      contender.results = contender.run();
      if (round >= 0) contender.times.push_back(MonotonicNow() - start);
    }
  }
  const double ours = absl::ToDoubleMilliseconds(Median(contenders[0].times));
  printf("%s\n  %-28s %9.2f ms  %8lu results\n", work.c_str(), contenders[0].name.c_str(), ours,
         contenders[0].results);
  for (size_t i = 1; i < contenders.size(); ++i) {
    const double theirs = absl::ToDoubleMilliseconds(Median(contenders[i].times));
    printf("  %-28s %9.2f ms  %8lu results", contenders[i].name.c_str(), theirs,
           contenders[i].results);
    if (goal > 0) {
      printf("  ours/theirs %.2f (goal <= %.1f) %s\n", ours / theirs, goal,
             ours / theirs <= goal ? "ok" : "MISSED");
    } else if (goal < 0) {
      printf("  %.1f times faster (goal >= %.0f) %s\n", theirs / ours, -goal,
             theirs / ours >= -goal ? "ok" : "MISSED");
    } else {
      printf("\n");
    }
  }
}

struct GrepCase {
  std::string pattern;
  PatternSyntax syntax;
  PatternCase letter_case;
  uint64_t limit = search::kUnlimited;
  uint32_t threads = 1;
};

uint64_t OurGrep(const std::string& tree, const GrepCase& c) {
  const LinePattern pattern = OrDie(LinePattern::Compile(c.pattern, c.syntax, c.letter_case));
  const IgnoreRules rules;
  const search::GrepOptions options{
      .max_results = c.limit, .threads = c.threads, .walk = {.ignore = &rules}};
  const SearchRoot root = OpenRoot(tree);
  return OrDie(search::GrepSearch(root, pattern, options,
                                  [](absl::Span<search::GrepMatch>) { return true; }))
      .results;
}

uint64_t OurGlob(const std::string& tree, const std::string& pattern) {
  const IgnoreRules rules;
  const search::GlobOptions options{.max_results = search::kUnlimited, .walk = {.ignore = &rules}};
  const SearchRoot root = OpenRoot(tree);
  return OrDie(search::GlobSearch(root, OrDie(GlobPattern::Compile(pattern)), options,
                                  [](absl::Span<search::GlobResult>) { return true; }))
      .results;
}

absl::Duration FirstResult(const std::string& tree) {
  const absl::Duration start = MonotonicNow();
  absl::Duration first = absl::InfiniteDuration();
  const SearchRoot root = OpenRoot(tree);
  OrDie(search::GlobSearch(root, OrDie(GlobPattern::Compile("**/*.py")), {},
                           [&](absl::Span<search::GlobResult>) {
                             first = MonotonicNow() - start;
                             return false;
                           })
            .status());
  return first;
}

// Peak resident memory while `work` runs above what was there before. In a child of its own, whose
// heap holds nothing that earlier work left and this could reuse.
double PeakMebibytes(const std::function<void()>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) Die("pipe");
  const pid_t child = fork();
  if (child < 0) Die("fork");
  if (child == 0) {
    const auto read_kib = [](const char* key) {
      const std::string status = OrDie(ReadSmallFile("/proc/self/status"));
      return atof(status.c_str() + status.find(key) + strlen(key));
    };
    OrDie(WriteExisting("/proc/self/clear_refs", "5"));
    const double before = read_kib("VmRSS:");
    work();
    const double peak = (read_kib("VmHWM:") - before) / 1024;
    _exit(write(ends[1], &peak, sizeof(peak)) == sizeof(peak) ? 0 : 1);
  }
  close(ends[1]);
  double peak = 0;
  const bool told = read(ends[0], &peak, sizeof(peak)) == sizeof(peak);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!told) Die("the child that measures memory failed");
  return peak;
}

void PrintMemory(const std::string& work, double mebibytes) {
  printf("  %-28s %9.1f MiB (goal <= 16) %s\n", work.c_str(), mebibytes,
         mebibytes <= 16 ? "ok" : "MISSED");
}

void MeasureMillion(const std::string& dir) {
  const std::string tree = dir + "/million";
  const std::string flat = dir + "/flat";
  OrDie(MakeMillion(tree));
  OrDie(MakeFlat(flat));
  PrintMemory("glob **, 1,000,000 in folders", PeakMebibytes([&] { OurGlob(tree, "**"); }));
  PrintMemory("glob **, 1,000,000 in one", PeakMebibytes([&] { OurGlob(flat, "**"); }));
  const double first = absl::ToDoubleMilliseconds(FirstResult(tree));
  printf("first result in 1,000,000 entries %.2f ms (goal < 20) %s\n", first,
         first < 20 ? "ok" : "MISSED");
  for (const std::string& path : {tree, flat}) {
    const absl::Duration start = MonotonicNow();
    const uint64_t results = OurGlob(path, "**");
    printf("  all %lu in %.0f ms; first of %s after %.1f ms\n", results,
           absl::ToDoubleMilliseconds(MonotonicNow() - start), path == tree ? "many" : "one folder",
           absl::ToDoubleMilliseconds(FirstResult(path)));
  }
}

int Main(int argc, char** argv) {
  const char* temporary = getenv("TMPDIR");
  std::string dir = temporary == nullptr ? "/tmp" : temporary;
  int rounds = 9;
  bool million = false;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--million") {
      million = true;
    } else if (flag == "--dir" && i + 1 < argc) {
      dir = argv[++i];
    } else if (flag == "--rounds" && i + 1 < argc && absl::SimpleAtoi(argv[i + 1], &rounds) &&
               rounds > 0) {
      ++i;
    } else {
      Die("usage: cubby-search-bench [--dir FOLDER] [--rounds N] [--million]");
    }
  }
  const TemporaryDirectory work = OrDie(TemporaryDirectory::Create(dir, "cubby-search-bench-"));
  const std::string checkout = work.path() + "/checkout";
  const std::string sources = work.path() + "/sources";
  const std::string ignore_file = work.path() + "/ignore";
  printf("making trees in %s\n", work.path().c_str());
  OrDie(MakeCheckout(checkout));
  OrDie(MakeSources(sources));
  OrDie(WriteFileAtomically(ignore_file, IgnoreFileContent()));

  const auto threads = std::max(1u, std::thread::hardware_concurrency());
  // Before this process has a heap to speak of.
  const GrepCase every_hit{kCommonRegex, PatternSyntax::kRegex, PatternCase::kInsensitive};
  printf("peak memory above idle\n");
  PrintMemory("glob **, 100,000 files", PeakMebibytes([&] { OurGlob(checkout, "**"); }));
  PrintMemory("grep, 1 thread", PeakMebibytes([&] { OurGrep(sources, every_hit); }));
  GrepCase on_all_cores = every_hit;
  on_all_cores.threads = threads;
  PrintMemory(absl::StrCat("grep, ", threads, " threads"),
              PeakMebibytes([&] { OurGrep(sources, on_all_cores); }));
  if (million) MeasureMillion(work.path());

  const auto lines_of = [](std::vector<std::string> command) {
    return [command = std::move(command)] { return OrDie(CountLinesOf(command)); };
  };
  Compare("start-up of the peers, which is in their times",
          {{"fdfind --version", lines_of({"fdfind", "--version"})},
           {"rg --version", lines_of({"rg", "--version"})}},
          rounds, 0);
  Compare("glob **/*.py, 100,000 files",
          {{"cubby", [&] { return OurGlob(checkout, "**/*.py"); }},
           {"fd, all cores", lines_of(FdCommand(checkout, threads))},
           {"fd, 1 thread", lines_of(FdCommand(checkout, 1))}},
          rounds, 1.2);

  const auto rg = [&](uint32_t n, const std::vector<std::string>& rest) {
    return lines_of(RgCommand(sources, ignore_file, n, rest));
  };
  std::vector<uint32_t> thread_counts = {1};
  if (threads > 1) thread_counts.push_back(threads);
  for (uint32_t n : thread_counts) {
    const std::string on = absl::StrCat(", ", n, n == 1 ? " thread" : " threads");
    Compare("grep rare literal, 20,000 files" + on,
            {{"cubby",
              [&, n] {
                return OurGrep(sources, {kRareText, PatternSyntax::kLiteral,
                                         PatternCase::kSensitive, search::kUnlimited, n});
              }},
             {"rg -F", rg(n, {"-F", kRareText})}},
            rounds, 1.5);
    Compare("grep rare literal, any case" + on,
            {{"cubby",
              [&, n] {
                return OurGrep(sources, {kRareText, PatternSyntax::kLiteral,
                                         PatternCase::kInsensitive, search::kUnlimited, n});
              }},
             {"rg -F -i", rg(n, {"-F", "-i", kRareText})}},
            rounds, 1.5);
    Compare("grep every hit of a regex, any case" + on,
            {{"cubby",
              [&, n] {
                return OurGrep(sources, {kCommonRegex, PatternSyntax::kRegex,
                                         PatternCase::kInsensitive, search::kUnlimited, n});
              }},
             {"rg -i", rg(n, {"-i", kCommonRegex})}},
            rounds, 0);
  }
  Compare("grep regex with many hits, cut at 100",
          {{"cubby",
            [&] {
              return OurGrep(sources,
                             {kCommonRegex, PatternSyntax::kRegex, PatternCase::kInsensitive, 100});
            }},
           {"grep -rHnIi -E | head", lines_of(PipelineCommand(sources, kCommonRegex))}},
          rounds, -5);
  return 0;
}

}  // namespace
}  // namespace cubby::bench

int main(int argc, char** argv) { return cubby::bench::Main(argc, argv); }
