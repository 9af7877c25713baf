// Brings an image from a registry into the blob store.
#ifndef CUBBY_IMAGE_PULL_H_
#define CUBBY_IMAGE_PULL_H_

#include <string>

#include "absl/status/statusor.h"
#include "cubby/image/blob_store.h"
#include "cubby/image/reference.h"
#include "cubby/image/store.h"

namespace cubby {

// Returns the manifest's digest; it and all that it names are in the store then. What an earlier
// attempt has fetched is not fetched again, to the byte.
absl::StatusOr<std::string> PullImage(const BlobStore& blobs, const Reference& reference,
                                      const PullOptions& options);

}  // namespace cubby

#endif  // CUBBY_IMAGE_PULL_H_
