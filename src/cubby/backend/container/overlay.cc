#include "cubby/backend/container/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cubby/base/file.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/base/unique_fd.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr size_t kMaxLayers = 400;

// mountinfo writes blanks and backslashes of a path as octal escapes.
std::string Unescape(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

absl::StatusOr<std::vector<std::string>> MountPointsWithin(const std::string& folder) {
  CUBBY_ASSIGN_OR_RETURN(const std::string mounts, ReadSmallFile("/proc/self/mountinfo"));
  std::vector<std::string> found;
  for (absl::string_view line : absl::StrSplit(mounts, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    if (fields.size() < 5) continue;
    std::string point = Unescape(fields[4]);
    if (IsWithin(point, folder)) found.push_back(std::move(point));
  }
  return found;
}

}  // namespace

absl::Status MountOverlay(const std::vector<std::string>& layers, const MachinePaths& paths) {
  if (layers.empty() || layers.size() > kMaxLayers) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the image has ", layers.size(), " layers; between 1 and ", kMaxLayers, " can be mounted"));
  }
  CUBBY_RETURN_IF_ERROR(MakeDirectories(paths.rootfs()));
  CUBBY_RETURN_IF_ERROR(MakeDirectories(paths.work()));
  CUBBY_RETURN_IF_ERROR(MakeDirectories(paths.upper(), 0755));
  // The kernel takes one page of options, in which ':' and ',' have meanings: descriptors are short
  // and hold neither.
  std::vector<unique_fd> descriptors;
  std::vector<std::string> lower;
  const auto by_descriptor =
      [&descriptors](const std::string& path) -> absl::StatusOr<std::string> {
    unique_fd fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return ErrnoError(errno, "open", path);
    descriptors.push_back(std::move(fd));
    return absl::StrCat("/proc/self/fd/", descriptors.back().get());
  };
  // overlayfs wants the highest first.
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    CUBBY_ASSIGN_OR_RETURN(std::string path, by_descriptor(*layer));
    lower.push_back(std::move(path));
  }
  CUBBY_ASSIGN_OR_RETURN(const std::string upper, by_descriptor(paths.upper()));
  CUBBY_ASSIGN_OR_RETURN(const std::string work, by_descriptor(paths.work()));
  // The root folder's mode is the lowest layer's that has one; an upper folder would mask it.
  struct stat st {};
  if (stat(layers.back().c_str(), &st) == 0 &&
      chmod(paths.upper().c_str(), st.st_mode & 07777) != 0) {
    return ErrnoError(errno, "chmod", paths.upper());
  }
  // volatile: what a sandbox wrote need not survive a crash of the host, and no sandbox should wait
  // for the disk of all.
  const std::string options = absl::StrCat("lowerdir=", absl::StrJoin(lower, ":"),
                                           ",upperdir=", upper, ",workdir=", work, ",volatile");
  if (mount("cubby", paths.rootfs().c_str(), "overlay", MS_NODEV, options.c_str()) != 0) {
    return ErrnoError(errno, "mount overlay on", paths.rootfs());
  }
  return absl::OkStatus();
}

absl::Status UnmountAll(const std::string& folder) {
  // Several passes: mounts may lie on top of one another at one point.
  constexpr int kMaxPasses = 64;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    CUBBY_ASSIGN_OR_RETURN(std::vector<std::string> points, MountPointsWithin(folder));
    if (points.empty()) return absl::OkStatus();
    std::sort(points.rbegin(), points.rend());  // the deepest first
    for (const std::string& point : points) {
      if (umount2(point.c_str(), UMOUNT_NOFOLLOW) == 0 || errno == EINVAL) continue;
      if (errno != EBUSY) return ErrnoError(errno, "unmount", point);
      // Something of the host (an indexer, a shell) is in it: out of the tree now, gone when it
      // leaves.
      if (umount2(point.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH) != 0) {
        return ErrnoError(errno, "unmount", point);
      }
    }
  }
  return absl::InternalError(absl::StrCat("unmount ", folder, ": mounts come back"));
}

}  // namespace cubby
