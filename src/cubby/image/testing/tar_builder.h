// Layers for tests, made entry by entry: also such as no tool would write.
#ifndef CUBBY_IMAGE_TESTING_TAR_BUILDER_H_
#define CUBBY_IMAGE_TESTING_TAR_BUILDER_H_

#include <stdint.h>
#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace cubby {

class TarBuilder {
 public:
  enum class Compression { kNone, kGzip, kZstd };

  struct Attributes {
    mode_t mode = 0644;
    uid_t uid = 0;
    gid_t gid = 0;
    int64_t mtime = 1000000000;
    std::string xattr_name;
    std::string xattr_value;
  };

  TarBuilder(const std::string& path, Compression compression);
  ~TarBuilder();

  void File(const std::string& name, absl::string_view content);
  void File(const std::string& name, absl::string_view content, const Attributes& attributes);
  void Folder(const std::string& name, mode_t mode = 0755);
  void Symlink(const std::string& name, const std::string& target);
  void HardLink(const std::string& name, const std::string& target);
  void Device(const std::string& name, mode_t type, unsigned major, unsigned minor);
  // Writes the end of the archive.
  void Close();

 private:
  struct Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace cubby

#endif  // CUBBY_IMAGE_TESTING_TAR_BUILDER_H_
