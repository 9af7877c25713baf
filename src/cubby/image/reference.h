// Names of images.
#ifndef CUBBY_IMAGE_REFERENCE_H_
#define CUBBY_IMAGE_REFERENCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cubby {

struct Reference {
  std::string registry;    // "docker.io", "ghcr.io", "localhost:5000"
  std::string repository;  // "library/python"
  std::string tag;         // empty with a digest alone
  std::string digest;      // "sha256:...", or empty

  // The full form: "docker.io/library/python:3.12-slim".
  [[nodiscard]] std::string ToString() const;
};

// "python:3.12-slim", "ghcr.io/x/y@sha256:...", "localhost:5000/z" (Docker's rules: the part before
// the first slash is a registry when it has a dot or a colon or is "localhost"; no registry means
// docker.io, one word there means library/). No tag and no digest means "latest".
absl::StatusOr<Reference> ParseReference(absl::string_view text);

}  // namespace cubby

#endif  // CUBBY_IMAGE_REFERENCE_H_
