// What is remembered of an unpacked image, so that making a sandbox reads one small file.
#ifndef CUBBY_IMAGE_ROOTFS_RECORD_H_
#define CUBBY_IMAGE_ROOTFS_RECORD_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cubby/image/store.h"

namespace cubby {

struct RootfsRecord {
  ImageConfig config;
  std::vector<std::string> layer_digests;  // lowest first
};

std::string FormatRootfsRecord(const RootfsRecord& record);
// Nothing when the text is damaged or of another version: the record is then made anew.
std::optional<RootfsRecord> ParseRootfsRecord(absl::string_view text);

}  // namespace cubby

#endif  // CUBBY_IMAGE_ROOTFS_RECORD_H_
