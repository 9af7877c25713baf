#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cubby/base/host_tree.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/copy.h"
#include "cubby/cli/units.h"

namespace cubby::cli {
namespace {

constexpr uint32_t kUsualDirectoryMode = 0755;  // of the folders that the agent makes
constexpr size_t kPathsPerCommand = 200;

class Copier {
 public:
  Copier(Sandbox& sandbox, const HostTree& tree, CopyReport* report)
      : sandbox_(sandbox), tree_(tree), report_(report) {}

  absl::Status Entry(const std::string& source, const std::string& target) {
    CUBBY_ASSIGN_OR_RETURN(const FileInfo info, tree_.Stat(source));
    switch (info.type) {
      case FileType::kFile:
        return File(source, info.mode, target);
      case FileType::kDirectory:
        return Folder(source, info.mode, target);
      case FileType::kSymlink:
        return Symlink(source, info.link_target, target);
      default:
        report_->Skip(source, absl::StrCat("is a ", FileTypeName(info.type)));
        return absl::OkStatus();
    }
  }

  // The folders' modes, last: one without write permission could not have been filled.
  absl::Status SetDirectoryModes() {
    for (const auto& [mode, paths] : directory_modes_) {
      for (size_t first = 0; first < paths.size(); first += kPathsPerCommand) {
        std::vector<std::string> argv = {"chmod", FormatMode(mode), "--"};
        const size_t last = std::min(paths.size(), first + kPathsPerCommand);
        argv.insert(argv.end(), paths.begin() + static_cast<std::ptrdiff_t>(first),
                    paths.begin() + static_cast<std::ptrdiff_t>(last));
        const absl::Status done = RunTool(argv);
        if (!done.ok() && !absl::IsNotFound(done)) return done;
        if (!done.ok()) {
          report_->Skip(paths[first],
                        absl::StrCat("the mode ", FormatMode(mode), " of ", last - first,
                                     " folders is not kept: the image has no chmod"));
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status File(const std::string& source, uint32_t mode, const std::string& target) {
    CUBBY_ASSIGN_OR_RETURN(const unique_fd file, tree_.OpenToRead(source));
    CUBBY_RETURN_IF_ERROR(
        sandbox_.WriteFileFrom(target,
                               [&](char* buffer, size_t size) -> absl::StatusOr<size_t> {
                                 const ssize_t got = ::read(file.get(), buffer, size);
                                 if (got < 0) return ErrnoError(errno, "read", source);
                                 report_->bytes += got;
                                 return static_cast<size_t>(got);
                               },
                               {.mode = mode & 0777}));
    ++report_->files;
    return absl::OkStatus();
  }

  absl::Status Folder(const std::string& source, uint32_t mode, const std::string& target) {
    CUBBY_RETURN_IF_ERROR(sandbox_.MakeDir(target));
    ++report_->directories;
    if ((mode & 0777) != kUsualDirectoryMode) directory_modes_[mode & 0777].push_back(target);
    CUBBY_ASSIGN_OR_RETURN(const std::vector<std::string> names, tree_.List(source));
    for (const std::string& name : names) {
      CUBBY_RETURN_IF_ERROR(
          Entry(source.empty() ? name : absl::StrCat(source, "/", name), JoinPath(target, name)));
    }
    return absl::OkStatus();
  }

  absl::Status Symlink(const std::string& source, const std::string& link_target,
                       const std::string& target) {
    const absl::Status made = RunTool({"ln", "-s", "-f", "-n", "--", link_target, target});
    if (made.ok()) {
      ++report_->symlinks;
    } else if (absl::IsNotFound(made)) {
      report_->Skip(source, "is a symlink, and the image has no ln to make it with");
    } else {
      return made;
    }
    return absl::OkStatus();
  }

  // A tool of the image, for what the agent's file operations do not cover.
  absl::Status RunTool(const std::vector<std::string>& argv) {
    CUBBY_ASSIGN_OR_RETURN(const ExecResult result,
                           sandbox_.Execute(Command::Argv(argv), {.working_directory = "/",
                                                                  .timeout = absl::Seconds(60)}));
    if (result.ok()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("'", argv[0], "' in the sandbox failed with exit code ",
                                            result.exit_code, ": ", result.err.bytes));
  }

  Sandbox& sandbox_;
  const HostTree& tree_;
  CopyReport* report_;
  std::map<uint32_t, std::vector<std::string>> directory_modes_;
};

}  // namespace

absl::Status CopyIn(const std::string& host_source, Sandbox& sandbox,
                    const std::string& destination, CopyReport* report) {
  const std::unique_ptr<char, decltype(&free)> real(realpath(host_source.c_str(), nullptr), &free);
  if (real == nullptr) return ErrnoError(errno, "find", host_source);
  // What the person named is followed when it is a symlink; links inside are copied as links.
  const std::string path = real.get();
  const bool is_root = path == "/";
  CUBBY_ASSIGN_OR_RETURN(const HostTree tree,
                         HostTree::Open(is_root ? "/" : std::string(Dirname(path))));
  const std::string name = is_root ? "" : std::string(Basename(path));
  CUBBY_ASSIGN_OR_RETURN(const FileInfo info, tree.Stat(name));
  const bool is_folder = info.type == FileType::kDirectory;
  const bool content = is_folder && (is_root || MeansContent(host_source));

  CUBBY_ASSIGN_OR_RETURN(std::string target, NormalizePath(destination));
  const absl::StatusOr<bool> into = IsFolderInSandbox(sandbox, target);
  if (!into.ok() && !absl::IsNotFound(into.status())) return into.status();
  if (into.ok() && *into) {
    // The name as it was given: a symlink keeps the name by which it was called.
    std::string given = host_source;
    while (given.size() > 1 && given.back() == '/') given.pop_back();
    const std::string called(Basename(given));
    if (!content) target = JoinPath(target, called == ".." || called.empty() ? name : called);
  } else if (into.ok() && is_folder) {
    return absl::FailedPreconditionError(
        absl::StrCat(target, " in the sandbox is not a folder, and a folder is to be copied"));
  } else if (!into.ok() && absl::EndsWith(destination, "/") && !is_folder) {
    return MakeError(absl::StatusCode::kNotFound,
                     absl::StrCat("there is no folder ", destination, " in the sandbox"),
                     {.path = destination});
  }
  Copier copier(sandbox, tree, report);
  CUBBY_RETURN_IF_ERROR(copier.Entry(name, target));
  return copier.SetDirectoryModes();
}

}  // namespace cubby::cli
