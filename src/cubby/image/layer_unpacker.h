// A layer's tar archive, unpacked as the lower side of an overlay.
#ifndef CUBBY_IMAGE_LAYER_UNPACKER_H_
#define CUBBY_IMAGE_LAYER_UNPACKER_H_

#include <stdint.h>

#include <string>

#include "absl/status/status.h"

namespace cubby {

struct UnpackLimits {
  int64_t max_bytes = int64_t{64} << 30;  // of file content
  int64_t max_entries = 5000000;
  // Of the archive besides file content: headers and padding. A few megabytes of blob can stand for
  // terabytes of zeros.
  int64_t max_overhead_bytes = int64_t{8} << 30;
};

// Unpacks `blob` (tar, plain or compressed with gzip, zstd, xz or bzip2) into the existing, empty
// folder `target`. Owners, modes, times, xattrs, devices and hard links survive; whiteouts become
// overlayfs's own. Needs root.
//
// The archive is hostile: names with `..`, absolute names, and entries or link targets whose folder
// leads out of `target` through a symlink are PERMISSION_DENIED, naming the entry. `diff_id`, when
// not empty, is what the uncompressed bytes must hash to: DATA_LOSS.
absl::Status UnpackLayer(const std::string& blob, const std::string& target,
                         const std::string& diff_id, const UnpackLimits& limits = {});

}  // namespace cubby

#endif  // CUBBY_IMAGE_LAYER_UNPACKER_H_
