#include "cubby/backend/container/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cubby/base/file.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/base/subprocess.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr size_t kErrorTailBytes = 600;

}  // namespace

OciRuntime::OciRuntime(std::string path, std::string state_folder)
    : path_(std::move(path)),
      state_folder_(std::move(state_folder)),
      is_crun_(Basename(path_) == "crun") {}

absl::StatusOr<OciRuntime> OciRuntime::Find(const std::string& name, const StateDir& state) {
  if (!name.empty()) {
    CUBBY_ASSIGN_OR_RETURN(std::string path, FindProgram(name));
    return OciRuntime(std::move(path), state.runtime());
  }
  for (const char* candidate : {"crun", "runc"}) {
    absl::StatusOr<std::string> path = FindProgram(candidate);
    if (path.ok()) return OciRuntime(*std::move(path), state.runtime());
  }
  return absl::FailedPreconditionError(
      "no OCI runtime: install crun (apt-get install crun) or name one with --runtime");
}

std::string ConsoleTail(const std::string& path, size_t max_bytes) {
  unique_fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return "";
  const off_t size = lseek(fd.get(), 0, SEEK_END);
  const off_t from =
      size > static_cast<off_t>(max_bytes) ? size - static_cast<off_t>(max_bytes) : 0;
  std::string tail(static_cast<size_t>(size - from), '\0');
  const ssize_t n = pread(fd.get(), tail.data(), tail.size(), from);
  tail.resize(n < 0 ? 0 : static_cast<size_t>(n));
  const size_t line = tail.find('\n');
  return from > 0 && line != std::string::npos ? tail.substr(line + 1) : tail;
}

absl::StatusOr<pid_t> OciRuntime::Run(const std::string& id, const MachinePaths& paths,
                                      const CgroupHost& cgroups, int listener,
                                      Deadline deadline) const {
  unique_fd console(open(paths.console().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!console.valid()) return ErrnoError(errno, "create", paths.console());
  CUBBY_ASSIGN_OR_RETURN(const std::vector<unique_fd> procs, cgroups.OpenProcs(id));
  const std::string pid_file = paths.bundle() + "/pid";
  SpawnOptions options{
      .argv = {path_, "--root", state_folder_},
      .environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      .descriptors = {{console.get(), 1}, {console.get(), 2}, {listener, 3}}};
  for (const unique_fd& fd : procs) options.cgroup_procs.push_back(fd.get());
  if (is_crun_) {
    options.argv.emplace_back("--cgroup-manager=disabled");
    if (const std::string hybrid = cgroups.hybrid_folder(); !hybrid.empty()) {
      options.hidden_folders = {hybrid};
    }
  }
  for (const std::string& word :
       {std::string("run"), std::string("--detach"), std::string("--preserve-fds"),
        std::string("1"), std::string("--bundle"), paths.bundle(), std::string("--pid-file"),
        pid_file, id}) {
    options.argv.push_back(word);
  }
  CUBBY_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Spawn(options));
  absl::StatusOr<ExitStatus> ended = process.Wait(deadline);
  if (!ended.ok()) {
    return MakeError(absl::StatusCode::kDeadlineExceeded,
                     absl::StrCat(path_, " has not started the container in time"));
  }
  if (!ended->success()) {
    std::string said = ConsoleTail(paths.console(), kErrorTailBytes);
    absl::StripAsciiWhitespace(&said);
    return absl::FailedPreconditionError(absl::StrCat(
        path_, " could not start the container (", ended->ToString(),
        "): ", said.empty() ? "it said nothing" : absl::StrReplaceAll(said, {{"\n", "; "}})));
  }
  CUBBY_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(pid_file, 64));
  pid_t pid = 0;
  if (!absl::SimpleAtoi(text, &pid) || pid <= 0) {
    return absl::InternalError(absl::StrCat(path_, " gave no pid of the container"));
  }
  return pid;
}

absl::Status OciRuntime::Forget(const std::string& id) const {
  // Both crun and runc keep one folder per container, and nothing outside of it once the
  // container's processes, control group and mounts are gone, which we see to.
  return RemoveTree(absl::StrCat(state_folder_, "/", id));
}

}  // namespace cubby
