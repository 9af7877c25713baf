#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "cubby/base/subprocess.h"
#include "peers.h"
#include "rows.h"

namespace cubby::bench {
namespace {

constexpr int kRounds = 30;

double CreateMs(Workshop& workshop) {
  std::shared_ptr<Sandbox> sandbox;
  const absl::Duration time = TimeOf([&] {
    sandbox = workshop.Make();
    if (!sandbox->Execute(Command::Argv({"true"})).ok()) Die("exec of true failed");
  });
  workshop.Remove(sandbox);
  return absl::ToDoubleMilliseconds(time);
}

Figure CreateAgainst(Workshop& workshop, const std::string& runtime) {
  RuntimePeer peer(workshop, runtime);
  if (!peer.available()) return {.ours = runtime + " is not here", .measured = false};
  std::vector<double> ours, theirs;
  for (int i = 0; i < kRounds; ++i) {
    ours.push_back(CreateMs(workshop));
    theirs.push_back(absl::ToDoubleMilliseconds(TimeOf([&] { peer.RunTrue(); })));
  }
  return {.ours = Ms(Median(ours)),
          .peers = Ms(Median(theirs)),
          .value = Median(ours) / Median(theirs)};
}

Figure CreateAgainstDocker(Workshop& workshop) {
  if (!DockerAnswers()) return {.ours = "no Docker engine answers here", .measured = false};
  const auto docker = [](const std::string& script) {
    const absl::StatusOr<CommandOutput> run =
        RunCommand({.argv = {"sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}},
                   Deadline::After(absl::Minutes(1)));
    if (!run.ok() || !run->status.success()) Die("docker: " + (run.ok() ? run->err : "stuck"));
  };
  docker("tar -C " + workshop.rootfs() + " -c . | docker import - cubby-bench:latest");
  std::vector<double> ours, theirs;
  for (int i = 0; i < 10; ++i) {
    ours.push_back(CreateMs(workshop));
    theirs.push_back(absl::ToDoubleMilliseconds(
        TimeOf([&] { docker("docker run --rm --network none cubby-bench:latest /bin/true"); })));
  }
  docker("docker rmi cubby-bench:latest");
  return {.ours = Ms(Median(ours)),
          .peers = Ms(Median(theirs)),
          .value = Median(theirs) / Median(ours)};
}

std::string ProcFile(int pid, const char* name) {
  return ReadSmallFile(absl::StrCat("/proc/", pid, "/", name)).value_or("");
}

double StatusKilobytes(int pid, absl::string_view key) {
  const std::string text = ProcFile(pid, "status");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.substr(0, key.size()) != key) continue;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    double number = 0;
    if (words.size() > 1 && absl::SimpleAtod(words[1], &number)) return number;
  }
  Die("cannot read the agent's memory");
}

Figure IdleMemory(Workshop& workshop) {
  std::shared_ptr<Sandbox> sandbox = workshop.Make();
  if (!sandbox->Execute(Command::Argv({"true"})).ok()) Die("exec of true failed");
  const double mib = StatusKilobytes(workshop.AgentPid(sandbox->id()), "VmRSS") / 1024;
  workshop.Remove(sandbox);
  return {.ours = absl::StrFormat("%.2f MiB", mib), .value = mib};
}

Figure IdleWakeUps(Workshop& workshop) {
  std::shared_ptr<Sandbox> sandbox = workshop.Make();
  const int pid = workshop.AgentPid(sandbox->id());
  const auto switches = [&] {
    return StatusKilobytes(pid, "voluntary_ctxt_switches") +
           StatusKilobytes(pid, "nonvoluntary_ctxt_switches");
  };
  sleep(1);  // the exchange that made it ready comes to rest
  const double before = switches();
  sleep(10);
  const double woken = switches() - before;
  workshop.Remove(sandbox);
  return {.ours = absl::StrFormat("%.0f wake-ups in 10 s", woken), .value = woken};
}

Figure Hundred(Workshop& workshop) {
  constexpr int kCallers = 8;
  std::vector<std::shared_ptr<Sandbox>> sandboxes(100);
  const auto by_all_callers = [&](const std::function<void(std::shared_ptr<Sandbox>&)>& work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kCallers; ++t) {
      threads.emplace_back([&, t] {
        for (size_t i = static_cast<size_t>(t); i < sandboxes.size(); i += kCallers) {
          work(sandboxes[i]);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  std::atomic<int> made{0};
  const absl::Duration making = TimeOf([&] {
    by_all_callers([&](std::shared_ptr<Sandbox>& sandbox) {
      sandbox = workshop.Make();
      if (sandbox->Execute(Command::Argv({"true"})).ok()) ++made;
    });
  });
  const absl::Duration removing = TimeOf([&] {
    by_all_callers([&](std::shared_ptr<Sandbox>& sandbox) { workshop.Remove(sandbox); });
  });
  const std::string mounts = ReadSmallFile("/proc/self/mountinfo").value_or("");
  const absl::StatusOr<std::vector<std::string>> machines =
      ListDirectory(workshop.folder() + "/state/machines");
  const bool clean = mounts.find(workshop.folder() + "/state") == std::string::npos &&
                     machines.ok() && machines->empty();
  return {.ours = absl::StrFormat("%d in %.2f + %.2f s, %s", made.load(),
                                  absl::ToDoubleSeconds(making), absl::ToDoubleSeconds(removing),
                                  clean ? "nothing left" : "something left"),
          .value = clean ? static_cast<double>(made.load()) : 0.0};
}

Figure AgentSize(Workshop& workshop) {
  struct stat st {};
  if (stat(workshop.agent().c_str(), &st) != 0) Die("no agent");
  const double mb = static_cast<double>(st.st_size) / 1e6;
  return {.ours = absl::StrFormat("%.2f MB", mb), .value = mb};
}

}  // namespace

std::string Ms(double milliseconds) { return absl::StrFormat("%.2f ms", milliseconds); }

std::vector<Row> MachineRows() {
  return {{"create-crun", [](Workshop& w) { return CreateAgainst(w, "crun"); }},
          {"create-runc", [](Workshop& w) { return CreateAgainst(w, "runc"); }},
          {"create-docker", CreateAgainstDocker},
          {"idle-memory", IdleMemory},
          {"idle-cpu", IdleWakeUps},
          {"hundred", Hundred},
          {"agent-size", AgentSize}};
}

}  // namespace cubby::bench
