// cubby-bench SPECIFICATION.md [--only NAME] [--strict] [--list]
//
// Measures every promise of the file against its peer, in one run, and prints what came of it.
// Missed promises are counted; with --strict they fail the run. --list only names the rows.
#include <stdio.h>
#include <string.h>

#include <set>

#include "promises.h"
#include "rows.h"

namespace cubby::bench {
namespace {

bool IsKept(const Promise& promise, double value) {
  return promise.kind == Promise::Kind::kAtMost ? value <= promise.limit : value >= promise.limit;
}

void CheckThatAllIsMeasured(const std::map<std::string, Promise>& promises,
                            const std::vector<Row>& rows) {
  std::set<std::string> measured;
  for (const Row& row : rows) {
    if (!promises.contains(row.name)) Die("nothing is promised for " + row.name);
    measured.insert(row.name);
  }
  for (const auto& [name, promise] : promises) {
    if (!measured.contains(name)) Die("nothing measures what is promised for " + name);
  }
}

int Main(int argc, char** argv) {
  std::string only;
  bool strict = false;
  bool list = false;
  if (argc < 2) Die("usage: cubby-bench SPECIFICATION.md [--only NAME] [--strict] [--list]");
  for (int i = 2; i < argc; ++i) {
    if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
    } else if (strcmp(argv[i], "--strict") == 0) {
      strict = true;
    } else if (strcmp(argv[i], "--list") == 0) {
      list = true;
    } else {
      Die(std::string("unknown argument ") + argv[i]);
    }
  }
  const absl::StatusOr<std::map<std::string, Promise>> promises = ReadPromises(argv[1]);
  if (!promises.ok()) Die(std::string(promises.status().message()));
  std::vector<Row> rows = MachineRows();
  for (std::vector<Row> more : {ExecRows(), FileRows(), SearchRows()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  CheckThatAllIsMeasured(*promises, rows);
  if (list) {
    for (const Row& row : rows) printf("%s\n", row.name.c_str());
    return 0;
  }
  Workshop workshop;
  printf("%-14s %-34s %-12s %10s   %s\n", "name", "ours", "peer", "figure", "promised");
  int missed = 0;
  for (const Row& row : rows) {
    if (!only.empty() && row.name != only) continue;
    const Promise& promise = promises->at(row.name);
    const Figure figure = row.measure(workshop);
    if (!figure.measured) {
      printf("%-14s not measured: %s\n", row.name.c_str(), figure.ours.c_str());
      continue;
    }
    const bool kept = IsKept(promise, figure.value);
    missed += kept ? 0 : 1;
    printf("%-14s %-34s %-12s %10.2f   %s %g %s: %s\n", row.name.c_str(), figure.ours.c_str(),
           figure.peers.c_str(), figure.value,
           promise.kind == Promise::Kind::kAtMost ? "at most" : "at least", promise.limit,
           promise.unit.c_str(), kept ? "kept" : "MISSED");
    fflush(stdout);
  }
  printf("%d missed\n", missed);
  return strict && missed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace cubby::bench

int main(int argc, char** argv) { return cubby::bench::Main(argc, argv); }
