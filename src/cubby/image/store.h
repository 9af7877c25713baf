// image/: OCI images, unchanged: references, registries, layers, and root file systems.
//
// The store keeps blobs by digest and every layer unpacked once, shared by all images and
// machines. Several processes may use one store; work on a blob or layer is done by one of them
// while the others wait for it. Nothing is fetched that was not asked for. May use base/ only.
#ifndef CUBBY_IMAGE_STORE_H_
#define CUBBY_IMAGE_STORE_H_

#include <stdint.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cubby/base/state_dir.h"

namespace cubby {

// The part of an OCI image configuration that a sandbox uses.
struct ImageConfig {
  std::string architecture;  // GOARCH: amd64, arm64
  std::string os;
  std::vector<std::string> environment;  // "KEY=value"
  std::string user;
  std::string working_directory;
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
  std::map<std::string, std::string> labels;
};

struct ImageInfo {
  std::string reference;  // as pulled or imported, in full form
  std::string digest;     // of the manifest, "sha256:..."
  int64_t compressed_bytes = 0;
  absl::Time created;  // from the configuration; infinite past when it has none
  ImageConfig config;
  std::vector<std::string> layers;  // digests of the compressed blobs, lowest first
};

// An image ready to be mounted as the lower side of an overlay.
struct ImageRootfs {
  std::string digest;  // of the manifest
  ImageConfig config;
  std::vector<std::string> layer_digests;  // lowest first
  std::vector<std::string> layer_folders;  // lowest first; whiteouts are in overlayfs's own form
};

struct PullProgress {
  int64_t done_bytes = 0;
  int64_t total_bytes = 0;
  std::string step;  // "fetching", "unpacking"
};

struct PullOptions {
  bool allow_plain_http = false;
  std::string architecture;  // empty: this machine's
  // Called from any thread, at most ten times a second.
  std::function<void(const PullProgress&)> progress;
};

struct BaseImageOptions {
  std::string reference = "cubby-base";
  std::string suite = "bookworm";
  // Besides the essential packages of Debian.
  std::vector<std::string> packages = {"python3-minimal", "procps"};
  // A line for people, now and then.
  std::function<void(absl::string_view)> progress;
};

class ImageStore {
 public:
  static absl::StatusOr<std::unique_ptr<ImageStore>> Open(const StateDir& state);
  virtual ~ImageStore() = default;

  virtual absl::StatusOr<ImageInfo> Pull(const std::string& reference,
                                         const PullOptions& options) = 0;
  // An OCI layout (folder or tarball), or a docker-archive tarball. `reference` names the result;
  // empty: the name that the archive carries, else INVALID_ARGUMENT.
  virtual absl::StatusOr<ImageInfo> Import(const std::string& path,
                                           const std::string& reference) = 0;
  enum class ExportFormat { kOciLayout, kOciArchive, kDockerArchive };
  virtual absl::Status Export(const std::string& reference, const std::string& path,
                              ExportFormat format) = 0;

  // A small Debian image from Debian packages, made with mmdebstrap and the package sources of this
  // host. Takes about a minute; needs root.
  virtual absl::StatusOr<ImageInfo> BuildBase(const BaseImageOptions& options) = 0;

  virtual absl::StatusOr<std::vector<ImageInfo>> List() = 0;
  virtual absl::StatusOr<ImageInfo> Inspect(const std::string& reference) = 0;  // NOT_FOUND
  virtual absl::Status Remove(const std::string& reference) = 0;                // NOT_FOUND

  // Removes blobs and layers that no reference and no digest of `layers_in_use` needs, and
  // abandoned downloads. Returns how many bytes were freed. UNAVAILABLE (retryable) while anybody
  // pulls, imports, exports or unpacks.
  virtual absl::StatusOr<int64_t> Prune(const std::vector<std::string>& layers_in_use) = 0;

  // The unpacked image; unpacks what is not yet. NOT_FOUND when the reference is not in the store:
  // the message tells how to pull it.
  virtual absl::StatusOr<ImageRootfs> Rootfs(const std::string& reference) = 0;
};

}  // namespace cubby

#endif  // CUBBY_IMAGE_STORE_H_
