#include "cubby/image/blob_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"
#include "cubby/image/digest.h"
#include "cubby/status.h"

namespace cubby {
namespace {

absl::Status WrongDigest(const std::string& digest, const std::string& found) {
  return absl::DataLossError(absl::StrCat("blob ", digest, ": its bytes have the digest ", found));
}

absl::Status Missing(const std::string& digest) {
  return absl::NotFoundError(
      absl::StrCat("blob ", digest, " is not in the store; pull or import the image again"));
}

}  // namespace

absl::StatusOr<std::string> Sha256OfFile(const std::string& path) {
  unique_fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, "open", path);
  Sha256 hash;
  std::string buffer(256 << 10, '\0');
  while (true) {
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(errno, "read", path);
    if (n == 0) return hash.Finish();
    hash.Update({buffer.data(), static_cast<size_t>(n)});
  }
}

absl::Status BlobStore::Prepare() const {
  for (const char* folder : {"/blobs/sha256", "/partial", "/layers", "/locks", "/rootfs"}) {
    CUBBY_RETURN_IF_ERROR(MakeDirectories(root_ + folder));
  }
  return absl::OkStatus();
}

std::string BlobStore::Path(const std::string& digest) const {
  return absl::StrCat(root_, "/blobs/sha256/", HexOf(digest));
}

std::string BlobStore::PartialPath(const std::string& digest) const {
  return absl::StrCat(root_, "/partial/", HexOf(digest));
}

bool BlobStore::Has(const std::string& digest) const { return FileExists(Path(digest)); }

absl::Status BlobStore::Discard(const std::string& digest) const {
  const std::string path = Path(digest);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return ErrnoError(errno, "remove the damaged blob", path);
  }
  return absl::DataLossError(absl::StrCat(
      "blob ", digest, " was damaged in the store and is removed; pull or import the image again"));
}

absl::Status BlobStore::Verify(const std::string& digest) const {
  const absl::StatusOr<std::string> found = Sha256OfFile(Path(digest));
  if (absl::IsNotFound(found.status())) return Missing(digest);
  CUBBY_RETURN_IF_ERROR(found.status());
  return *found == digest ? absl::OkStatus() : Discard(digest);
}

absl::StatusOr<std::string> BlobStore::Read(const std::string& digest, size_t max_bytes) const {
  absl::StatusOr<std::string> bytes = ReadSmallFile(Path(digest), max_bytes);
  if (absl::IsNotFound(bytes.status())) return Missing(digest);
  CUBBY_RETURN_IF_ERROR(bytes.status());
  if (Sha256Of(*bytes) != digest) return Discard(digest);
  return bytes;
}

absl::Status BlobStore::Put(const std::string& digest, absl::string_view bytes) const {
  if (const std::string found = Sha256Of(bytes); found != digest) return WrongDigest(digest, found);
  return Has(digest) ? absl::OkStatus() : WriteFileAtomically(Path(digest), bytes, 0644);
}

absl::StatusOr<FileLock> BlobStore::Lock(const std::string& digest) const {
  return FileLock::Acquire(absl::StrCat(root_, "/locks/", HexOf(digest)));
}

absl::Status BlobStore::CommitPartial(const std::string& digest) const {
  const std::string partial = PartialPath(digest);
  CUBBY_ASSIGN_OR_RETURN(const std::string found, Sha256OfFile(partial));
  if (found != digest) {
    unlink(partial.c_str());
    return WrongDigest(digest, found);
  }
  if (rename(partial.c_str(), Path(digest).c_str()) != 0) {
    return ErrnoError(errno, "rename", partial);
  }
  return absl::OkStatus();
}

}  // namespace cubby
