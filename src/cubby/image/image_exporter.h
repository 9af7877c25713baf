// Writes images of the blob store as files that other tools read.
#ifndef CUBBY_IMAGE_IMAGE_EXPORTER_H_
#define CUBBY_IMAGE_IMAGE_EXPORTER_H_

#include <string>

#include "absl/status/status.h"
#include "cubby/image/blob_store.h"
#include "cubby/image/manifest.h"
#include "cubby/image/store.h"

namespace cubby {

struct ExportedImage {
  std::string reference;  // the name that the archive carries
  std::string manifest_digest;
  Manifest manifest;
};

// `path` appears whole or not at all; ALREADY_EXISTS when something is there. Every blob is
// verified on its way: DATA_LOSS. `work_folder` is empty, on the store's file system and left to
// the caller.
absl::Status ExportImage(const BlobStore& blobs, const ExportedImage& image,
                         ImageStore::ExportFormat format, const std::string& work_folder,
                         const std::string& path);

}  // namespace cubby

#endif  // CUBBY_IMAGE_IMAGE_EXPORTER_H_
