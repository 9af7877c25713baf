#include "cubby/image/image_exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cubby/base/file.h"
#include "cubby/base/ids.h"
#include "cubby/base/log.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/image/archive_file.h"
#include "cubby/image/digest.h"
#include "cubby/status.h"
#include "nlohmann/json.hpp"

namespace cubby {
namespace {

using nlohmann::json;

absl::Status CopyBlob(const BlobStore& blobs, const std::string& digest, const std::string& to) {
  CUBBY_RETURN_IF_ERROR(blobs.Verify(digest));
  CUBBY_RETURN_IF_ERROR(MakeDirectories(std::string(Dirname(to)), 0755));
  return CopyFile(blobs.Path(digest), to);
}

absl::Status WriteDockerArchive(const BlobStore& blobs, const ExportedImage& image,
                                const std::string& folder) {
  json layers = json::array();
  for (const Descriptor& layer : image.manifest.layers) {
    const std::string member = HexOf(layer.digest) + "/layer.tar";
    CUBBY_RETURN_IF_ERROR(CopyBlob(blobs, layer.digest, JoinPath(folder, member)));
    layers.push_back(member);
  }
  const std::string config = HexOf(image.manifest.config.digest) + ".json";
  CUBBY_RETURN_IF_ERROR(CopyBlob(blobs, image.manifest.config.digest, JoinPath(folder, config)));
  const json list =
      json::array({{{"Config", config}, {"RepoTags", {image.reference}}, {"Layers", layers}}});
  return WriteFileAtomically(folder + "/manifest.json", list.dump(), 0644);
}

absl::Status WriteOciLayout(const BlobStore& blobs, const ExportedImage& image,
                            const std::string& folder) {
  std::vector<std::string> digests = {image.manifest_digest, image.manifest.config.digest};
  for (const Descriptor& layer : image.manifest.layers) digests.push_back(layer.digest);
  for (const std::string& digest : digests) {
    CUBBY_RETURN_IF_ERROR(
        CopyBlob(blobs, digest, absl::StrCat(folder, "/blobs/sha256/", HexOf(digest))));
  }
  CUBBY_ASSIGN_OR_RETURN(const std::string manifest,
                         blobs.Read(image.manifest_digest, kMaxManifestBytes));
  const json entry = {{"mediaType", kOciManifestType},
                      {"digest", image.manifest_digest},
                      {"size", manifest.size()},
                      {"annotations", {{"org.opencontainers.image.ref.name", image.reference}}}};
  const json list = {
      {"schemaVersion", 2}, {"mediaType", kOciIndexType}, {"manifests", json::array({entry})}};
  CUBBY_RETURN_IF_ERROR(WriteFileAtomically(folder + "/index.json", list.dump(), 0644));
  return WriteFileAtomically(folder + "/oci-layout", R"({"imageLayoutVersion":"1.0.0"})", 0644);
}

// "a/" is the folder "a".
absl::string_view StripTrailingSlashes(absl::string_view path) {
  while (path.size() > 1 && absl::ConsumeSuffix(&path, "/")) {
  }
  return path;
}

// Never over what has come there meanwhile, where the file system can tell.
absl::Status MoveIntoPlace(const std::string& building, const std::string& target) {
  if (renameat2(AT_FDCWD, building.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0 ||
      (errno == EINVAL && rename(building.c_str(), target.c_str()) == 0)) {
    return absl::OkStatus();
  }
  return ErrnoError(errno, "export", target);
}

}  // namespace

absl::Status ExportImage(const BlobStore& blobs, const ExportedImage& image,
                         ImageStore::ExportFormat format, const std::string& work_folder,
                         const std::string& path) {
  if (FileExists(path)) {
    return MakeError(absl::StatusCode::kAlreadyExists, absl::StrCat("export: ", path, " exists"),
                     {.path = path});
  }
  // Beside its final place, so that the last step is a rename.
  const std::string target(StripTrailingSlashes(path));
  const std::string building = absl::StrCat(target, ".tmp-", RandomHex(4));
  const auto build = [&]() -> absl::Status {
    switch (format) {
      case ImageStore::ExportFormat::kOciLayout:
        CUBBY_RETURN_IF_ERROR(MakeDirectories(building, 0755));
        return WriteOciLayout(blobs, image, building);
      case ImageStore::ExportFormat::kOciArchive:
        CUBBY_RETURN_IF_ERROR(WriteOciLayout(blobs, image, work_folder));
        return CreateArchive(work_folder, building);
      case ImageStore::ExportFormat::kDockerArchive:
        CUBBY_RETURN_IF_ERROR(WriteDockerArchive(blobs, image, work_folder));
        return CreateArchive(work_folder, building);
    }
    return absl::InvalidArgumentError("export: no such format");
  };
  absl::Status status = build();
  if (status.ok()) status = MoveIntoPlace(building, target);
  if (status.ok()) return status;
  if (absl::Status removed = RemoveTree(building); !removed.ok()) {
    Log(Severity::kWarning, absl::StrCat("half an export is left behind: ", removed.message()));
  }
  return status;
}

}  // namespace cubby
