#include "cubby/image/layer_unpacker.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cubby/base/file.h"
#include "cubby/base/log.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/base/unique_fd.h"
#include "cubby/image/digest.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr char kWhiteoutPrefix[] = ".wh.";
constexpr char kOpaqueMarker[] = ".wh..wh..opq";
constexpr char kMetadataPrefix[] = ".wh..wh.";
constexpr size_t kReadBytes = 256 << 10;

struct ArchiveCloser {
  void operator()(archive* a) const { archive_read_free(a); }
};
using UniqueArchive = std::unique_ptr<archive, ArchiveCloser>;

absl::Status Refuse(absl::string_view entry, absl::string_view why) {
  return MakeError(absl::StatusCode::kPermissionDenied,
                   absl::StrCat("layer entry ", entry, ": ", why), {.path = std::string(entry)});
}

absl::Status ArchiveError(archive* a, absl::string_view what) {
  // A full disk and the like keep their errno; everything else is a damaged archive.
  const int error = archive_errno(a);
  const char* text = archive_error_string(a);
  if (error == ENOSPC || error == EDQUOT || error == EIO) return ErrnoError(error, what);
  return absl::DataLossError(absl::StrCat(what, ": ", text != nullptr ? text : "damaged archive"));
}

// First decompresses, hashing what comes out, and hands it to the tar reader above.
class Decompressor {
 public:
  static absl::StatusOr<std::unique_ptr<Decompressor>> Open(const std::string& blob,
                                                            int64_t max_bytes) {
    std::unique_ptr<Decompressor> self(new Decompressor(max_bytes));
    self->raw_.reset(archive_read_new());
    archive* raw = self->raw_.get();
    archive_read_support_filter_gzip(raw);
    archive_read_support_filter_zstd(raw);
    archive_read_support_filter_xz(raw);
    archive_read_support_filter_bzip2(raw);
    archive_read_support_format_raw(raw);
    archive_read_support_format_empty(raw);
    archive_entry* entry = nullptr;
    if (archive_read_open_filename(raw, blob.c_str(), kReadBytes) != ARCHIVE_OK) {
      return ArchiveError(raw, "open layer");
    }
    const int header = archive_read_next_header(raw, &entry);
    if (header != ARCHIVE_OK && header != ARCHIVE_EOF) return ArchiveError(raw, "open layer");
    self->at_end_ = header == ARCHIVE_EOF;
    return self;
  }

  // For archive_read_open: the next piece.
  static la_ssize_t Read(archive* tar, void* self_pointer, const void** buffer) {
    auto* self = static_cast<Decompressor*>(self_pointer);
    const la_ssize_t n = self->Next();
    if (self->is_too_large()) {
      archive_set_error(tar, EFBIG, "too large");
      return ARCHIVE_FATAL;
    }
    if (n < 0) {
      archive_set_error(tar, archive_errno(self->raw_.get()), "%s",
                        archive_error_string(self->raw_.get()));
      return ARCHIVE_FATAL;
    }
    *buffer = self->buffer_.data();
    return n;
  }

  // Reads what the tar reader has left (padding counts for the digest) and returns the digest.
  absl::StatusOr<std::string> Finish() {
    while (true) {
      const la_ssize_t n = Next();
      if (is_too_large()) return TooLarge();
      if (n < 0) return ArchiveError(raw_.get(), "read layer");
      if (n == 0) return hash_.Finish();
    }
  }

  [[nodiscard]] bool is_too_large() const { return passed_ > max_bytes_; }
  [[nodiscard]] absl::Status TooLarge() const {
    return absl::ResourceExhaustedError(
        absl::StrCat("the layer's archive has more than ", max_bytes_, " bytes"));
  }

 private:
  explicit Decompressor(int64_t max_bytes) : max_bytes_(max_bytes), buffer_(kReadBytes, '\0') {}

  la_ssize_t Next() {
    if (at_end_) return 0;
    const la_ssize_t n = archive_read_data(raw_.get(), buffer_.data(), buffer_.size());
    if (n > 0) hash_.Update({buffer_.data(), static_cast<size_t>(n)});
    if (n > 0) passed_ += n;
    if (n == 0) at_end_ = true;
    return n;
  }

  const int64_t max_bytes_;
  UniqueArchive raw_;
  std::string buffer_;
  int64_t passed_ = 0;
  Sha256 hash_;
  bool at_end_ = false;
};

class Unpacker {
 public:
  Unpacker(unique_fd root, const UnpackLimits& limits) : root_(std::move(root)), limits_(limits) {}

  absl::Status Run(archive* tar) {
    archive_entry* entry = nullptr;
    while (true) {
      const int result = archive_read_next_header(tar, &entry);
      if (result == ARCHIVE_EOF) return FinishFolders();
      if (result != ARCHIVE_OK && result != ARCHIVE_WARN) return ArchiveError(tar, "read layer");
      if (++entries_ > limits_.max_entries) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the layer holds more than ", limits_.max_entries, " entries"));
      }
      CUBBY_RETURN_IF_ERROR(Unpack(tar, entry));
    }
  }

 private:
  // Modes and times of folders are set when nothing is put into them any more.
  struct Folder {
    std::string path;
    mode_t mode;
    timespec times[2];
  };

  // "a/b" for "./a//b/"; empty for the root itself.
  static absl::StatusOr<std::string> CleanName(const char* raw) {
    if (raw == nullptr || *raw == '\0') return Refuse("(unnamed)", "no name");
    const absl::string_view name(raw);
    if (name[0] == '/') return Refuse(name, "an absolute name");
    std::string clean;
    for (absl::string_view part : absl::StrSplit(name, '/', absl::SkipEmpty())) {
      if (part == ".") continue;
      if (part == "..") return Refuse(name, "`..` in its name leads out of the layer");
      absl::StrAppend(&clean, clean.empty() ? "" : "/", part);
    }
    return clean;
  }

  // The folder that holds `clean`, made when the archive does not name it. Symlinks on the way may
  // not lead out of the layer.
  absl::StatusOr<unique_fd> Parent(const std::string& clean) {
    const size_t slash = clean.rfind('/');
    if (slash == std::string::npos) return OpenFolder(".");
    return MakeFolders(clean.substr(0, slash), clean);
  }

  absl::StatusOr<unique_fd> OpenFolder(const std::string& path) {
    open_how how{};
    how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    unique_fd fd(
        static_cast<int>(syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof(how))));
    if (!fd.valid()) return ErrnoError(errno, "open", path);
    return fd;
  }

  absl::StatusOr<unique_fd> MakeFolders(const std::string& path, const std::string& entry) {
    absl::StatusOr<unique_fd> fd = OpenFolder(path);
    if (fd.ok()) return fd;
    const int error = GetErrorDetail(fd.status()).error_number;
    if (error == EXDEV || error == ELOOP) return Refuse(entry, "a symlink leads out of the layer");
    if (error != ENOENT && error != ENOTDIR) {
      return Annotate(fd.status(), absl::StrCat("layer entry ", entry));
    }
    CUBBY_ASSIGN_OR_RETURN(const unique_fd parent, Parent(path));
    const std::string name(Basename(path));
    // A name that this layer hides and then makes anew, without naming the folder itself.
    const bool was_hidden = IsWhiteout(parent.get(), name);
    if (was_hidden && unlinkat(parent.get(), name.c_str(), 0) != 0) {
      return ErrnoError(errno, "replace", path);
    }
    const bool is_new = mkdirat(parent.get(), name.c_str(), 0755) == 0;
    if (!is_new && errno != EEXIST) return ErrnoError(errno, "mkdir", path);
    fd = OpenFolder(path);
    // A dangling symlink: where it points is not ours to make.
    if (!fd.ok()) return Refuse(entry, "a symlink on the way leads nowhere in the layer");
    // Whatever umask the caller has.
    if (is_new && fchmod(fd->get(), 0755) != 0) return ErrnoError(errno, "chmod", path);
    if (was_hidden) CUBBY_RETURN_IF_ERROR(MarkOpaque(fd->get(), path));
    return fd;
  }

  absl::Status Unpack(archive* tar, archive_entry* entry) {
    CUBBY_ASSIGN_OR_RETURN(const std::string clean, CleanName(archive_entry_pathname(entry)));
    if (clean.empty()) {
      RememberFolder(".", entry);
      return fchown(root_.get(), Uid(entry), Gid(entry)) == 0 ? absl::OkStatus()
                                                              : ErrnoError(errno, "chown", ".");
    }
    CUBBY_ASSIGN_OR_RETURN(const unique_fd parent, Parent(clean));
    const std::string name(Basename(clean));
    if (name.size() > 255) return Refuse(clean, "a name of more than 255 bytes");
    if (name == kOpaqueMarker) {
      return MarkOpaque(parent.get(), clean);
    }
    // What AUFS keeps for itself: nothing that a layer hides.
    if (absl::StartsWith(name, kMetadataPrefix)) return absl::OkStatus();
    if (absl::StartsWith(name, kWhiteoutPrefix)) return Whiteout(parent.get(), name, clean);
    if (archive_entry_hardlink(entry) != nullptr) {
      return HardLink(parent.get(), name, clean, archive_entry_hardlink(entry));
    }
    return Make(tar, entry, parent.get(), name, clean);
  }

  absl::Status Whiteout(int parent, const std::string& name, const std::string& clean) {
    const std::string hidden = name.substr(sizeof(kWhiteoutPrefix) - 1);
    if (hidden.empty() || hidden == "." || hidden == "..") {
      return Refuse(clean, "a whiteout of no name");
    }
    if (mknodat(parent, hidden.c_str(), S_IFCHR, makedev(0, 0)) == 0) return absl::OkStatus();
    if (errno != EEXIST) return ErrnoError(errno, "whiteout", clean);
    // A layer may hide a name and make it anew, in either order: what it makes counts, and a folder
    // must not show what the layers below have in it.
    unique_fd folder(
        openat(parent, hidden.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return folder.valid() ? MarkOpaque(folder.get(), clean) : absl::OkStatus();
  }

  static bool IsWhiteout(int parent, const std::string& name) {
    struct stat st {};
    return fstatat(parent, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode) &&
           st.st_rdev == makedev(0, 0);
  }

  static absl::Status MarkOpaque(int folder, const std::string& clean) {
    return fsetxattr(folder, "trusted.overlay.opaque", "y", 1, 0) == 0
               ? absl::OkStatus()
               : ErrnoError(errno, "mark as opaque", clean);
  }

  absl::Status HardLink(int parent, const std::string& name, const std::string& clean,
                        const char* raw_target) {
    CUBBY_ASSIGN_OR_RETURN(const std::string target, CleanName(raw_target));
    if (target.empty()) return Refuse(clean, "a hard link to the root");
    CUBBY_ASSIGN_OR_RETURN(const unique_fd target_parent, Parent(target));
    CUBBY_RETURN_IF_ERROR(MakeRoom(parent, name, clean));
    const std::string target_name(Basename(target));
    // Without AT_SYMLINK_FOLLOW a link to a symlink is a link to the symlink itself.
    if (linkat(target_parent.get(), target_name.c_str(), parent, name.c_str(), 0) != 0) {
      return ErrnoError(errno, "link", clean);
    }
    return absl::OkStatus();
  }

  // Later entries of one archive replace earlier ones; a folder stays a folder.
  static absl::Status MakeRoom(int parent, const std::string& name, const std::string& clean) {
    if (unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return absl::OkStatus();
    if (errno != EISDIR && errno != EPERM) return ErrnoError(errno, "replace", clean);
    if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) return absl::OkStatus();
    return Refuse(clean, "replaces a folder that is not empty");
  }

  static uid_t Uid(archive_entry* entry) { return static_cast<uid_t>(archive_entry_uid(entry)); }
  static gid_t Gid(archive_entry* entry) { return static_cast<gid_t>(archive_entry_gid(entry)); }

  absl::Status Make(archive* tar, archive_entry* entry, int parent, const std::string& name,
                    const std::string& clean) {
    const mode_t mode = archive_entry_perm(entry) & 07777;
    const mode_t type = archive_entry_filetype(entry);
    bool was_hidden = false;
    unique_fd fd;
    if (type == AE_IFDIR) {
      if (mkdirat(parent, name.c_str(), 0700) != 0) {
        struct stat st {};
        if (errno != EEXIST || fstatat(parent, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
          return ErrnoError(errno, "mkdir", clean);
        }
        if (!S_ISDIR(st.st_mode)) {
          was_hidden = IsWhiteout(parent, name);
          CUBBY_RETURN_IF_ERROR(MakeRoom(parent, name, clean));
          if (mkdirat(parent, name.c_str(), 0700) != 0) return ErrnoError(errno, "mkdir", clean);
        }
      }
      fd.reset(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!fd.valid()) return ErrnoError(errno, "open", clean);
      if (was_hidden) CUBBY_RETURN_IF_ERROR(MarkOpaque(fd.get(), clean));
    } else {
      CUBBY_RETURN_IF_ERROR(MakeRoom(parent, name, clean));
      switch (type) {
        case AE_IFREG:
          fd.reset(openat(parent, name.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
          if (!fd.valid()) return ErrnoError(errno, "create", clean);
          CUBBY_RETURN_IF_ERROR(CopyContent(tar, fd.get(), archive_entry_size(entry), clean));
          break;
        case AE_IFLNK:
          if (symlinkat(archive_entry_symlink(entry), parent, name.c_str()) != 0) {
            return ErrnoError(errno, "symlink", clean);
          }
          break;
        case AE_IFIFO:
        case AE_IFCHR:
        case AE_IFBLK:
          if (mknodat(parent, name.c_str(), type | 0600,
                      makedev(archive_entry_rdevmajor(entry), archive_entry_rdevminor(entry))) !=
              0) {
            return ErrnoError(errno, "make device", clean);
          }
          break;
        default:
          return Refuse(clean, "a kind of file that layers do not have");
      }
    }
    return SetAttributes(entry, parent, name, clean, type, mode);
  }

  absl::Status CopyContent(archive* tar, int fd, int64_t size, const std::string& clean) {
    const void* piece = nullptr;
    size_t bytes = 0;
    la_int64_t offset = 0;
    int result;
    while ((result = archive_read_data_block(tar, &piece, &bytes, &offset)) == ARCHIVE_OK) {
      written_ += static_cast<int64_t>(bytes);
      if (written_ > limits_.max_bytes || offset > limits_.max_bytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the layer holds more than ", limits_.max_bytes, " bytes"));
      }
      // By offset: holes of sparse entries stay holes.
      if (lseek(fd, offset, SEEK_SET) < 0) return ErrnoError(errno, "seek", clean);
      if (absl::Status status = WriteAll(fd, {static_cast<const char*>(piece), bytes});
          !status.ok()) {
        return Annotate(status, clean);
      }
    }
    if (result != ARCHIVE_EOF) return ArchiveError(tar, clean);
    if (size > limits_.max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the layer holds more than ", limits_.max_bytes, " bytes"));
    }
    return ftruncate(fd, size) == 0 ? absl::OkStatus() : ErrnoError(errno, "truncate", clean);
  }

  static void ReadTimes(archive_entry* entry, timespec times[2]) {
    times[0] = times[1] = {.tv_sec = archive_entry_mtime(entry),
                           .tv_nsec = archive_entry_mtime_nsec(entry)};
  }

  void RememberFolder(const std::string& path, archive_entry* entry) {
    Folder folder{.path = path, .mode = static_cast<mode_t>(archive_entry_perm(entry) & 07777)};
    ReadTimes(entry, folder.times);
    folders_.push_back(std::move(folder));
  }

  absl::Status SetAttributes(archive_entry* entry, int parent, const std::string& name,
                             const std::string& clean, mode_t type, mode_t mode) {
    // Owner first: it clears setuid bits and capabilities.
    if (fchownat(parent, name.c_str(), Uid(entry), Gid(entry), AT_SYMLINK_NOFOLLOW) != 0) {
      return ErrnoError(errno, "chown", clean);
    }
    CUBBY_RETURN_IF_ERROR(SetXattrs(entry, parent, name, clean));
    if (type == AE_IFDIR) {
      RememberFolder(clean, entry);
      return absl::OkStatus();
    }
    if (type != AE_IFLNK && fchmodat(parent, name.c_str(), mode, 0) != 0) {
      return ErrnoError(errno, "chmod", clean);
    }
    timespec times[2];
    ReadTimes(entry, times);
    if (utimensat(parent, name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) {
      return ErrnoError(errno, "set the time of", clean);
    }
    return absl::OkStatus();
  }

  absl::Status SetXattrs(archive_entry* entry, int parent, const std::string& name,
                         const std::string& clean) {
    const char* key = nullptr;
    const void* value = nullptr;
    size_t size = 0;
    archive_entry_xattr_reset(entry);
    while (archive_entry_xattr_next(entry, &key, &value, &size) == ARCHIVE_OK) {
      // trusted.overlay.* would let an image speak to our overlay.
      if (absl::StartsWith(key, "trusted.")) continue;
      const std::string path = absl::StrCat("/proc/self/fd/", parent, "/", name);
      if (lsetxattr(path.c_str(), key, value, size, 0) == 0) continue;
      if (errno != EOPNOTSUPP) {
        return ErrnoError(errno, absl::StrCat("set attribute ", key, " of"), clean);
      }
      // One line a layer tells enough: on such a file system all of them are lost.
      if (std::exchange(lost_xattr_, true)) continue;
      Log(Severity::kWarning,
          absl::StrCat("the file system of the images cannot keep attributes: ",
                       absl::CHexEscape(key), " of ", absl::CHexEscape(clean), " is lost"));
    }
    return absl::OkStatus();
  }

  absl::Status FinishFolders() {
    // Deepest last named first, so that setting one does not touch another's time.
    for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) {
      absl::StatusOr<unique_fd> fd = OpenFolder(folder->path);
      if (!fd.ok()) continue;  // a later entry has replaced it
      if (fchmod(fd->get(), folder->mode) != 0) return ErrnoError(errno, "chmod", folder->path);
      if (futimens(fd->get(), folder->times) != 0) {
        return ErrnoError(errno, "set the time of", folder->path);
      }
    }
    return absl::OkStatus();
  }

  const unique_fd root_;
  const UnpackLimits limits_;
  int64_t entries_ = 0;
  int64_t written_ = 0;
  bool lost_xattr_ = false;
  std::vector<Folder> folders_;
};

}  // namespace

absl::Status UnpackLayer(const std::string& blob, const std::string& target,
                         const std::string& diff_id, const UnpackLimits& limits) {
  CUBBY_ASSIGN_OR_RETURN(const std::unique_ptr<Decompressor> input,
                         Decompressor::Open(blob, limits.max_bytes + limits.max_overhead_bytes));
  UniqueArchive tar(archive_read_new());
  archive_read_support_format_tar(tar.get());
  archive_read_support_format_empty(tar.get());
  if (archive_read_open(tar.get(), input.get(), nullptr, Decompressor::Read, nullptr) !=
      ARCHIVE_OK) {
    return input->is_too_large() ? input->TooLarge() : ArchiveError(tar.get(), "open layer");
  }
  unique_fd root(open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return ErrnoError(errno, "open", target);
  // A root that the archive does not name is as open as images have it, whatever the umask.
  if (fchmod(root.get(), 0755) != 0) return ErrnoError(errno, "chmod", target);
  const absl::Status unpacked = Unpacker(std::move(root), limits).Run(tar.get());
  if (input->is_too_large()) return input->TooLarge();
  CUBBY_RETURN_IF_ERROR(unpacked);
  CUBBY_ASSIGN_OR_RETURN(const std::string found, input->Finish());
  if (!diff_id.empty() && found != diff_id) {
    return absl::DataLossError(absl::StrCat("the layer's content has the digest ", found,
                                            ", and not ", diff_id, " as its image says"));
  }
  return absl::OkStatus();
}

}  // namespace cubby
