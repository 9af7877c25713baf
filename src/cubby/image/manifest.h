// Manifests, indexes and configurations of images (OCI image specification 1.0, Docker schema 2).
//
// All of it is a stranger's input: sizes and counts are bounded, types are checked.
#ifndef CUBBY_IMAGE_MANIFEST_H_
#define CUBBY_IMAGE_MANIFEST_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cubby/image/store.h"

namespace cubby {

inline constexpr size_t kMaxManifestBytes = 4 << 20;

inline constexpr char kOciManifestType[] = "application/vnd.oci.image.manifest.v1+json";
inline constexpr char kOciIndexType[] = "application/vnd.oci.image.index.v1+json";
inline constexpr char kOciConfigType[] = "application/vnd.oci.image.config.v1+json";
inline constexpr char kOciLayerGzipType[] = "application/vnd.oci.image.layer.v1.tar+gzip";
inline constexpr char kOciLayerType[] = "application/vnd.oci.image.layer.v1.tar";
inline constexpr char kDockerManifestType[] =
    "application/vnd.docker.distribution.manifest.v2+json";
inline constexpr char kDockerIndexType[] =
    "application/vnd.docker.distribution.manifest.list.v2+json";

struct Descriptor {
  std::string media_type;
  std::string digest;
  int64_t size = 0;
  std::string architecture;  // of an index entry
  std::string os;
  std::string variant;
  std::string reference_name;  // annotation org.opencontainers.image.ref.name
  std::string full_name;       // annotation io.containerd.image.name: Docker's, always complete
};

struct Manifest {
  Descriptor config;
  std::vector<Descriptor> layers;  // lowest first
};

// What `bytes` are: one image, or the images of several platforms. INVALID_ARGUMENT for anything
// else. `media_type` may be empty: then the content tells.
absl::StatusOr<std::variant<Manifest, std::vector<Descriptor>>> ParseManifest(
    absl::string_view media_type, absl::string_view bytes);

// The entry of an index for Linux on `architecture`; an entry that names no platform fits any.
// FAILED_PRECONDITION lists what there is.
absl::StatusOr<Descriptor> ChoosePlatform(const std::vector<Descriptor>& entries,
                                          const std::string& architecture);

struct ParsedConfig {
  ImageConfig config;
  std::vector<std::string> diff_ids;  // digests of the uncompressed layers, lowest first
  absl::Time created = absl::InfinitePast();
};
absl::StatusOr<ParsedConfig> ParseConfig(absl::string_view bytes);

// The architecture of this machine as images name it (GOARCH).
std::string HostArchitecture();

}  // namespace cubby

#endif  // CUBBY_IMAGE_MANIFEST_H_
