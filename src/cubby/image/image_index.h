// Which images the store has: references, and what is needed to use each.
#ifndef CUBBY_IMAGE_IMAGE_INDEX_H_
#define CUBBY_IMAGE_IMAGE_INDEX_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cubby {

// images/refs.json: reference (full form) -> manifest digest. Changes are made one at a time,
// across processes.
class ImageIndex {
 public:
  explicit ImageIndex(std::string images_dir) : root_(std::move(images_dir)) {}

  absl::StatusOr<std::map<std::string, std::string>> Load() const;
  // NOT_FOUND tells how to get the image.
  absl::StatusOr<std::string> Find(const std::string& reference) const;
  absl::Status Set(const std::string& reference, const std::string& digest) const;
  absl::Status Erase(const std::string& reference) const;  // NOT_FOUND

 private:
  absl::Status Save(const std::map<std::string, std::string>& references) const;
  const std::string root_;
};

}  // namespace cubby

#endif  // CUBBY_IMAGE_IMAGE_INDEX_H_
