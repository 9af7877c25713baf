#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cubby/base/subprocess.h"
#include "rows.h"

namespace cubby::bench {
namespace {

constexpr int64_t kFileBytes = 256 << 20;

int64_t PeakKilobytes(const std::string& status_file) {
  const std::string text = ReadSmallFile(status_file).value_or("");
  const size_t at = text.find("VmHWM:");
  return at == std::string::npos ? 0 : atoll(text.c_str() + at + 6);
}

// Starts the peak anew (proc(5), clear_refs).
void ResetPeak(const std::string& process) {
  WriteExisting(process + "/clear_refs", "5").IgnoreError();
}

void MakeFile(const std::string& path) {
  unique_fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  std::mt19937_64 random(1);
  std::vector<uint64_t> block(1 << 17);
  for (int64_t done = 0; done < kFileBytes; done += static_cast<int64_t>(block.size() * 8)) {
    for (uint64_t& word : block) word = random();
    if (!WriteAll(fd.get(), {reinterpret_cast<const char*>(block.data()), block.size() * 8}).ok()) {
      Die("no room for the test file");
    }
  }
}

struct Transfer {
  double ms = 0;  // there and back
  double write_ms = 0;
  double host_mib = 0;  // peak above what was there
  double agent_mib = 0;
};

Transfer WriteAndReadBack(Workshop& workshop, Sandbox& sandbox, const std::string& source) {
  const std::string agent = absl::StrCat("/proc/", workshop.AgentPid(sandbox.id()));
  ResetPeak(agent);
  ResetPeak("/proc/self");
  const int64_t before = PeakKilobytes("/proc/self/status");
  unique_fd input(open(source.c_str(), O_RDONLY | O_CLOEXEC));
  Transfer transfer;
  transfer.write_ms = absl::ToDoubleMilliseconds(TimeOf([&] {
    const absl::Status written =
        sandbox.WriteFileFrom("big", [&](char* buffer, size_t size) -> absl::StatusOr<size_t> {
          return static_cast<size_t>(read(input.get(), buffer, size));
        });
    if (!written.ok()) Die(std::string(written.message()));
  }));
  const std::string back = workshop.folder() + "/back";
  const double read_ms = absl::ToDoubleMilliseconds(TimeOf([&] {
    unique_fd output(open(back.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const absl::StatusOr<FileContent> got = sandbox.ReadFileTo(
        "big", {}, [&](absl::string_view bytes) { return WriteAll(output.get(), bytes); });
    if (!got.ok()) Die(std::string(got.status().message()));
  }));
  transfer.ms = transfer.write_ms + read_ms;
  transfer.host_mib = static_cast<double>(PeakKilobytes("/proc/self/status") - before) / 1024;
  transfer.agent_mib = static_cast<double>(PeakKilobytes(agent + "/status")) / 1024;
  // Freeing the old content is nobody's copying: it is not timed on either side.
  unlink(back.c_str());
  if (!sandbox.Remove("big").ok()) Die("cannot remove the file");
  return transfer;
}

void Copy(const std::string& from, const std::string& to) {
  const absl::StatusOr<CommandOutput> copied = RunCommand(
      {.argv = {"cp", "--reflink=never", from, to}, .environment = {"PATH=/usr/bin:/bin"}},
      Deadline::After(absl::Minutes(1)));
  if (!copied.ok() || !copied->status.success()) Die("cp failed");
}

std::vector<Transfer> Transfers(Workshop& workshop, std::vector<double>* copies) {
  const std::string source = workshop.folder() + "/source";
  MakeFile(source);
  std::shared_ptr<Sandbox> sandbox = workshop.Make();
  std::vector<Transfer> transfers;
  for (int round = 0; round < 5; ++round) {
    transfers.push_back(WriteAndReadBack(workshop, *sandbox, source));
    // There and back, as ours: two copies.
    copies->push_back(absl::ToDoubleMilliseconds(TimeOf([&] {
      Copy(source, workshop.folder() + "/copy");
      Copy(workshop.folder() + "/copy", workshop.folder() + "/copy2");
    })));
    unlink((workshop.folder() + "/copy").c_str());
    unlink((workshop.folder() + "/copy2").c_str());
  }
  workshop.Remove(sandbox);
  unlink(source.c_str());
  return transfers;
}

Figure BigFile(Workshop& workshop) {
  std::vector<double> copies, ours, written;
  for (const Transfer& transfer : Transfers(workshop, &copies)) {
    ours.push_back(transfer.ms);
    written.push_back(transfer.write_ms);
  }
  return {.ours = absl::StrFormat("%.0f ms (%.0f up)", Median(ours), Median(written)),
          .peers = absl::StrFormat("%.0f ms", Median(copies)),
          .value = Median(ours) / Median(copies)};
}

Figure BigFileMemory(Workshop& workshop) {
  std::vector<double> copies;
  double host = 0, agent = 0;
  for (const Transfer& transfer : Transfers(workshop, &copies)) {
    host = std::max(host, transfer.host_mib);
    agent = std::max(agent, transfer.agent_mib);
  }
  return {.ours = absl::StrFormat("host +%.1f MiB, agent %.1f MiB", host, agent),
          .value = std::max(host, agent)};
}

}  // namespace

std::vector<Row> FileRows() { return {{"file-256m", BigFile}, {"file-memory", BigFileMemory}}; }

}  // namespace cubby::bench
