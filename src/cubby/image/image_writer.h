// Puts images that are made or brought here into the blob store.
#ifndef CUBBY_IMAGE_IMAGE_WRITER_H_
#define CUBBY_IMAGE_IMAGE_WRITER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cubby/image/blob_store.h"
#include "cubby/image/manifest.h"
#include "cubby/image/store.h"

namespace cubby {

// Copies a file into the store; its digest is computed on the way. When `expected` is not empty the
// bytes must have it.
absl::StatusOr<Descriptor> PutFile(const BlobStore& blobs, const std::string& path,
                                   const std::string& expected = "");

// A manifest over a configuration and layers that are in the store; returns its digest.
absl::StatusOr<std::string> PutManifest(const BlobStore& blobs, const Descriptor& config,
                                        const std::vector<Descriptor>& layers);

// The blobs of one image under an OCI layout or docker-archive folder, taken into the store.
struct ImportedImage {
  std::string reference;  // as the archive names it, may be empty
  std::string manifest_digest;
};
absl::StatusOr<ImportedImage> ImportFolder(const BlobStore& blobs, const std::string& folder,
                                           const std::string& wanted_reference);

// mmdebstrap's result as an image; returns the manifest's digest.
absl::StatusOr<std::string> BuildBaseImage(const BlobStore& blobs, const std::string& work_folder,
                                           const BaseImageOptions& options);

}  // namespace cubby

#endif  // CUBBY_IMAGE_IMAGE_WRITER_H_
