// Blobs by digest: manifests, configurations and compressed layers, each verified before it counts.
#ifndef CUBBY_IMAGE_BLOB_STORE_H_
#define CUBBY_IMAGE_BLOB_STORE_H_

#include <stddef.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cubby/base/file.h"

namespace cubby {

// Thread-safe, and safe for several processes. Digests given to it must pass IsDigest.
class BlobStore {
 public:
  explicit BlobStore(std::string images_dir) : root_(std::move(images_dir)) {}

  // Makes the folders.
  absl::Status Prepare() const;

  // A blob that is there is whole and was verified.
  [[nodiscard]] bool Has(const std::string& digest) const;
  [[nodiscard]] std::string Path(const std::string& digest) const;
  // Where its bytes are gathered until they are all there.
  [[nodiscard]] std::string PartialPath(const std::string& digest) const;

  // DATA_LOSS when a blob no longer has its digest: it is removed, for only what is whole may be
  // taken for present, and the next pull or import brings it anew.
  // NOT_FOUND when it is not there.
  absl::Status Verify(const std::string& digest) const;
  absl::StatusOr<std::string> Read(const std::string& digest, size_t max_bytes) const;
  absl::Status Put(const std::string& digest, absl::string_view bytes) const;

  // Held by whoever fetches or unpacks a blob; others wait and then find it done.
  absl::StatusOr<FileLock> Lock(const std::string& digest) const;
  // Verifies the gathered bytes and makes them the blob; wrong ones are removed: DATA_LOSS.
  absl::Status CommitPartial(const std::string& digest) const;

 private:
  absl::Status Discard(const std::string& digest) const;

  const std::string root_;
};

// The digest of a file's bytes.
absl::StatusOr<std::string> Sha256OfFile(const std::string& path);

}  // namespace cubby

#endif  // CUBBY_IMAGE_BLOB_STORE_H_
