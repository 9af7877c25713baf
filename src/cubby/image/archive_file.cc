#include "cubby/image/archive_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cubby/base/file.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr size_t kReadBytes = 256 << 10;
constexpr int kMaxFiles = 100000;
constexpr int64_t kMaxBytes = int64_t{128} << 30;

struct ReadCloser {
  void operator()(archive* a) const { archive_read_free(a); }
};
struct WriteCloser {
  void operator()(archive* a) const { archive_write_free(a); }
};
struct EntryCloser {
  void operator()(archive_entry* e) const { archive_entry_free(e); }
};
struct GzipCloser {
  void operator()(gzFile_s* f) const { gzclose(f); }
};

absl::Status Failure(archive* a, const std::string& path) {
  const int error = archive_errno(a);
  if (error == ENOSPC || error == EDQUOT || error == ENOENT || error == EACCES) {
    return ErrnoError(error, "image archive", path);
  }
  const char* text = archive_error_string(a);
  return absl::DataLossError(
      absl::StrCat("image archive ", path, ": ", text != nullptr ? text : "damaged"));
}

// The members of image archives lie at most three folders deep and have plain names.
absl::StatusOr<std::string> SafeName(absl::string_view name) {
  absl::ConsumePrefix(&name, "./");
  const std::vector<absl::string_view> parts = absl::StrSplit(absl::StripSuffix(name, "/"), '/');
  for (absl::string_view part : parts) {
    if (part.empty() || part == "." || part == ".." || parts.size() > 4) {
      return MakeError(absl::StatusCode::kPermissionDenied,
                       absl::StrCat("image archive: a member leads out of it: ", name));
    }
  }
  return std::string(name);
}

absl::Status ListFiles(const std::string& folder, const std::string& below,
                       std::vector<std::string>* files) {
  CUBBY_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(folder));
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    struct stat st {};
    if (lstat(path.c_str(), &st) != 0) return ErrnoError(errno, "stat", path);
    const std::string shown = below.empty() ? name : JoinPath(below, name);
    if (S_ISDIR(st.st_mode)) {
      CUBBY_RETURN_IF_ERROR(ListFiles(path, shown, files));
    } else if (S_ISREG(st.st_mode)) {
      files->push_back(shown);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExtractArchive(const std::string& path, const std::string& folder) {
  std::unique_ptr<archive, ReadCloser> tar(archive_read_new());
  archive_read_support_format_tar(tar.get());
  archive_read_support_filter_gzip(tar.get());
  archive_read_support_filter_zstd(tar.get());
  if (archive_read_open_filename(tar.get(), path.c_str(), kReadBytes) != ARCHIVE_OK) {
    return Failure(tar.get(), path);
  }
  int64_t bytes = 0;
  for (int count = 0;; ++count) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(tar.get(), &entry);
    if (result == ARCHIVE_EOF) return absl::OkStatus();
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) return Failure(tar.get(), path);
    if (count >= kMaxFiles) {
      return absl::ResourceExhaustedError(absl::StrCat("image archive ", path, ": too many files"));
    }
    const mode_t type = archive_entry_filetype(entry);
    const bool is_link = type == AE_IFLNK || archive_entry_hardlink(entry) != nullptr;
    if (type != AE_IFREG && !is_link) continue;
    // Of what it says, before it is written: a small archive can unfold to a full disk.
    const int64_t size = archive_entry_size(entry);
    if (size < 0 || size > kMaxBytes - bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("image archive ", path, ": it holds more than ", kMaxBytes, " bytes"));
    }
    bytes += size;
    CUBBY_ASSIGN_OR_RETURN(const std::string name, SafeName(archive_entry_pathname(entry)));
    const std::string target = JoinPath(folder, name);
    CUBBY_RETURN_IF_ERROR(MakeDirectories(std::string(Dirname(target))));
    if (is_link) {
      // "../<id>/layer.tar": older docker versions save a repeated layer so.
      const char* raw =
          type == AE_IFLNK ? archive_entry_symlink(entry) : archive_entry_hardlink(entry);
      absl::string_view to(raw != nullptr ? raw : "");
      absl::ConsumePrefix(&to, "../");
      CUBBY_ASSIGN_OR_RETURN(const std::string source, SafeName(to));
      if (link(JoinPath(folder, source).c_str(), target.c_str()) != 0) {
        return ErrnoError(errno, "image archive: link", name);
      }
      continue;
    }
    unique_fd fd(open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd.valid()) return ErrnoError(errno, "create", target);
    if (archive_read_data_into_fd(tar.get(), fd.get()) != ARCHIVE_OK) {
      return Failure(tar.get(), path);
    }
  }
}

absl::Status CreateArchive(const std::string& folder, const std::string& path) {
  std::vector<std::string> files;
  CUBBY_RETURN_IF_ERROR(ListFiles(folder, "", &files));
  std::sort(files.begin(), files.end());
  std::unique_ptr<archive, WriteCloser> tar(archive_write_new());
  archive_write_set_format_ustar(tar.get());
  if (archive_write_open_filename(tar.get(), path.c_str()) != ARCHIVE_OK) {
    return Failure(tar.get(), path);
  }
  std::string buffer(kReadBytes, '\0');
  for (const std::string& name : files) {
    const std::string source = JoinPath(folder, name);
    unique_fd fd(open(source.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat st {};
    if (!fd.valid() || fstat(fd.get(), &st) != 0) return ErrnoError(errno, "open", source);
    std::unique_ptr<archive_entry, EntryCloser> entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_size(entry.get(), st.st_size);
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    if (archive_write_header(tar.get(), entry.get()) != ARCHIVE_OK) return Failure(tar.get(), path);
    while (true) {
      const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
      if (n < 0) return ErrnoError(errno, "read", source);
      if (n == 0) break;
      if (archive_write_data(tar.get(), buffer.data(), static_cast<size_t>(n)) < 0) {
        return Failure(tar.get(), path);
      }
    }
  }
  return archive_write_close(tar.get()) == ARCHIVE_OK ? absl::OkStatus() : Failure(tar.get(), path);
}

absl::Status GzipFile(const std::string& from, const std::string& to) {
  unique_fd input(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!input.valid()) return ErrnoError(errno, "open", from);
  std::unique_ptr<gzFile_s, GzipCloser> output(gzopen(to.c_str(), "wb1e"));
  if (output == nullptr) return ErrnoError(errno, "create", to);
  std::string buffer(kReadBytes, '\0');
  while (true) {
    const ssize_t n = read(input.get(), buffer.data(), buffer.size());
    if (n < 0) return ErrnoError(errno, "read", from);
    if (n == 0) break;
    if (gzwrite(output.get(), buffer.data(), static_cast<unsigned>(n)) != n) {
      return ErrnoError(errno, "write", to);
    }
  }
  return gzclose(output.release()) == Z_OK ? absl::OkStatus() : ErrnoError(errno, "write", to);
}

}  // namespace cubby
