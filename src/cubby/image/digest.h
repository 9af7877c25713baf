// SHA-256, by which everything in an image is named.
#ifndef CUBBY_IMAGE_DIGEST_H_
#define CUBBY_IMAGE_DIGEST_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace cubby {

// Computed while the bytes pass.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(absl::string_view bytes);
  // "sha256:<64 hex digits>". Once.
  std::string Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string Sha256Of(absl::string_view bytes);

// "sha256:" and 64 lower-case hex digits: safe as the name of a file.
bool IsDigest(absl::string_view text);
// The hex digits of a digest.
std::string HexOf(const std::string& digest);

}  // namespace cubby

#endif  // CUBBY_IMAGE_DIGEST_H_
