#include <atomic>
#include <thread>

#include "absl/strings/str_format.h"
#include "peers.h"
#include "rows.h"

namespace cubby::bench {
namespace {

Figure ExecTrue(Workshop& workshop) {
  std::shared_ptr<Sandbox> sandbox = workshop.Make();
  std::vector<double> ours, theirs;
  for (int i = 0; i < 1000; ++i) {
    ours.push_back(absl::ToDoubleMilliseconds(TimeOf([&] {
      if (!sandbox->Execute(Command::Argv({"/bin/true"})).ok()) Die("exec of true failed");
    })));
    theirs.push_back(absl::ToDoubleMilliseconds(TimeOf([&] { SpawnTrue(workshop); })));
  }
  workshop.Remove(sandbox);
  // Promised is 1.5 times + 0.3 ms: shown as what is left above 1.5 times.
  const double above = Median(ours) - 1.5 * Median(theirs);
  return {.ours = Ms(Median(ours)), .peers = Ms(Median(theirs)), .value = above};
}

double RatePerSecond(int callers, int total, const std::function<void()>& one) {
  std::atomic<int> left{total};
  const absl::Duration time = TimeOf([&] {
    std::vector<std::thread> threads;
    for (int t = 0; t < callers; ++t) {
      threads.emplace_back([&] {
        while (left-- > 0) one();
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  return total / absl::ToDoubleSeconds(time);
}

Figure ManyCallers(Workshop& workshop) {
  std::shared_ptr<Sandbox> sandbox = workshop.Make();
  std::vector<double> ours, theirs;
  // In turns, so that a noisy minute hits both.
  for (int round = 0; round < 5; ++round) {
    ours.push_back(RatePerSecond(64, 2000, [&] {
      if (!sandbox->Execute(Command::Argv({"/bin/true"})).ok()) Die("exec of true failed");
    }));
    theirs.push_back(RatePerSecond(64, 2000, [&] { SpawnTrue(workshop); }));
  }
  workshop.Remove(sandbox);
  return {.ours = absl::StrFormat("%.0f/s", Median(ours)),
          .peers = absl::StrFormat("%.0f/s", Median(theirs)),
          .value = Median(ours) / Median(theirs)};
}

}  // namespace

std::vector<Row> ExecRows() { return {{"exec-true", ExecTrue}, {"exec-rate", ManyCallers}}; }

}  // namespace cubby::bench
