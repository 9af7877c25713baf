#include "cubby/image/image_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cubby/base/ids.h"
#include "cubby/base/status_macros.h"
#include "cubby/image/digest.h"
#include "cubby/image/reference.h"
#include "cubby/status.h"
#include "nlohmann/json.hpp"

namespace cubby {
namespace {

using nlohmann::json;

json ToJson(const Descriptor& descriptor) {
  return {{"mediaType", descriptor.media_type},
          {"digest", descriptor.digest},
          {"size", descriptor.size}};
}

// Both compressed and plain layers are found in archives.
absl::StatusOr<std::string> LayerTypeOf(const std::string& path) {
  unique_fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, "open", path);
  unsigned char magic[4] = {};
  if (read(fd.get(), magic, sizeof(magic)) == sizeof(magic)) {
    if (magic[0] == 0x1f && magic[1] == 0x8b) return std::string(kOciLayerGzipType);
    if (magic[0] == 0x28 && magic[1] == 0xb5 && magic[2] == 0x2f && magic[3] == 0xfd) {
      return absl::StrCat(kOciLayerType, "+zstd");
    }
  }
  return std::string(kOciLayerType);
}

// A file of an archive may not be reached through names that the archive made up.
absl::Status CheckMember(const std::string& name) {
  if (!name.empty() && name[0] != '/' && name.find("..") == std::string::npos) {
    return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kPermissionDenied,
                   absl::StrCat("image archive: it names a file outside of itself: ", name));
}

absl::StatusOr<ImportedImage> ImportDockerArchive(const BlobStore& blobs, const std::string& folder,
                                                  const std::string& wanted_reference) {
  CUBBY_ASSIGN_OR_RETURN(const std::string text,
                         ReadSmallFile(folder + "/manifest.json", kMaxManifestBytes));
  const json images = json::parse(text, nullptr, false);
  if (!images.is_array() || images.empty() || !images[0].is_object()) {
    return absl::InvalidArgumentError("image archive: manifest.json lists no image");
  }
  if (images.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("image archive: it holds ", images.size(), " images; save them one by one"));
  }
  const json& image = images[0];
  if (!image.contains("Config") || !image["Config"].is_string() || !image.contains("Layers") ||
      !image["Layers"].is_array()) {
    return absl::InvalidArgumentError("image archive: manifest.json is malformed");
  }
  ImportedImage imported{.reference = wanted_reference};
  if (imported.reference.empty() && image.contains("RepoTags") && image["RepoTags"].is_array() &&
      !image["RepoTags"].empty() && image["RepoTags"][0].is_string()) {
    imported.reference = image["RepoTags"][0].get<std::string>();
  }
  const std::string config_name = image["Config"].get<std::string>();
  CUBBY_RETURN_IF_ERROR(CheckMember(config_name));
  CUBBY_ASSIGN_OR_RETURN(Descriptor config, PutFile(blobs, folder + "/" + config_name));
  config.media_type = kOciConfigType;
  std::vector<Descriptor> layers;
  for (const json& layer : image["Layers"]) {
    if (!layer.is_string()) return absl::InvalidArgumentError("image archive: a layer has no name");
    const std::string name = layer.get<std::string>();
    CUBBY_RETURN_IF_ERROR(CheckMember(name));
    CUBBY_ASSIGN_OR_RETURN(Descriptor descriptor, PutFile(blobs, folder + "/" + name));
    CUBBY_ASSIGN_OR_RETURN(descriptor.media_type, LayerTypeOf(blobs.Path(descriptor.digest)));
    layers.push_back(std::move(descriptor));
  }
  CUBBY_ASSIGN_OR_RETURN(imported.manifest_digest, PutManifest(blobs, config, layers));
  return imported;
}

// `docker save` puts only the tag into the annotation that other tools put the whole name into.
const std::string& NameOf(const Descriptor& entry) {
  return entry.full_name.empty() ? entry.reference_name : entry.full_name;
}

bool IsSameName(const std::string& one, const std::string& other) {
  const absl::StatusOr<Reference> first = ParseReference(one);
  const absl::StatusOr<Reference> second = ParseReference(other);
  return first.ok() && second.ok() && first->ToString() == second->ToString();
}

// The entries of a layout's index.json that are the wanted image. Several images may stand in one
// layout, and only a name tells them apart: another one must never be taken for it.
absl::StatusOr<std::vector<Descriptor>> ChooseImage(const std::vector<Descriptor>& entries,
                                                    const std::string& wanted_reference) {
  std::vector<Descriptor> named;
  std::set<std::string> names, digests;
  for (const Descriptor& entry : entries) {
    if (!wanted_reference.empty() && IsSameName(NameOf(entry), wanted_reference)) {
      named.push_back(entry);
    }
    if (NameOf(entry).empty()) continue;
    names.insert(NameOf(entry));
    digests.insert(entry.digest);
  }
  if (!named.empty()) return named;
  // One image under several names, or for several platforms.
  if (digests.size() <= 1 || names.size() <= 1) return entries;
  return absl::InvalidArgumentError(
      absl::StrCat("image layout: it holds several images; name "
                   "one of ",
                   absl::StrJoin(names, ", ")));
}

absl::StatusOr<ImportedImage> ImportOciLayout(const BlobStore& blobs, const std::string& folder,
                                              const std::string& wanted_reference) {
  CUBBY_ASSIGN_OR_RETURN(const std::string text,
                         ReadSmallFile(folder + "/index.json", kMaxManifestBytes));
  std::string bytes = text;
  std::string media_type = kOciIndexType;
  ImportedImage imported{.reference = wanted_reference};
  const auto blob_path = [&folder](const std::string& digest) {
    return absl::StrCat(folder, "/blobs/sha256/", HexOf(digest));
  };
  // index.json names manifests, or further indexes with one manifest per platform.
  for (int depth = 0; depth < 4; ++depth) {
    CUBBY_ASSIGN_OR_RETURN(auto parsed, ParseManifest(media_type, bytes));
    if (auto* manifest = std::get_if<Manifest>(&parsed)) {
      CUBBY_RETURN_IF_ERROR(
          PutFile(blobs, blob_path(manifest->config.digest), manifest->config.digest).status());
      for (const Descriptor& layer : manifest->layers) {
        CUBBY_RETURN_IF_ERROR(PutFile(blobs, blob_path(layer.digest), layer.digest).status());
      }
      imported.manifest_digest = Sha256Of(bytes);
      CUBBY_RETURN_IF_ERROR(blobs.Put(imported.manifest_digest, bytes));
      return imported;
    }
    auto& entries = std::get<std::vector<Descriptor>>(parsed);
    if (depth == 0) {
      CUBBY_ASSIGN_OR_RETURN(entries, ChooseImage(entries, wanted_reference));
    }
    CUBBY_ASSIGN_OR_RETURN(const Descriptor chosen, ChoosePlatform(entries, HostArchitecture()));
    if (imported.reference.empty()) imported.reference = NameOf(chosen);
    CUBBY_ASSIGN_OR_RETURN(bytes, ReadSmallFile(blob_path(chosen.digest), kMaxManifestBytes));
    if (Sha256Of(bytes) != chosen.digest) {
      return absl::DataLossError(absl::StrCat("blob ", chosen.digest, " is damaged"));
    }
    media_type = chosen.media_type;
  }
  return absl::InvalidArgumentError("image layout: indexes within indexes");
}

}  // namespace

absl::StatusOr<Descriptor> PutFile(const BlobStore& blobs, const std::string& path,
                                   const std::string& expected) {
  if (!expected.empty() && blobs.Has(expected)) return Descriptor{.digest = expected};
  CUBBY_ASSIGN_OR_RETURN(const std::string digest, Sha256OfFile(path));
  if (!expected.empty() && digest != expected) {
    return absl::DataLossError(
        absl::StrCat("blob ", expected, ": its bytes have the digest ", digest));
  }
  Descriptor descriptor{.digest = digest};
  CUBBY_ASSIGN_OR_RETURN(const FileLock lock, blobs.Lock(digest));
  struct stat st {};
  if (stat(path.c_str(), &st) != 0) return ErrnoError(errno, "stat", path);
  descriptor.size = st.st_size;
  if (blobs.Has(digest)) return descriptor;
  const std::string partial = blobs.PartialPath(digest);
  CUBBY_RETURN_IF_ERROR(CopyFile(path, partial));
  // Verified again: the file may have changed since its digest was taken.
  CUBBY_RETURN_IF_ERROR(blobs.CommitPartial(digest));
  return descriptor;
}

absl::StatusOr<std::string> PutManifest(const BlobStore& blobs, const Descriptor& config,
                                        const std::vector<Descriptor>& layers) {
  json list = json::array();
  for (const Descriptor& layer : layers) list.push_back(ToJson(layer));
  const std::string bytes = json{
      {"schemaVersion", 2},
      {"mediaType", kOciManifestType},
      {"config", ToJson(config)},
      {"layers", list}}.dump();
  const std::string digest = Sha256Of(bytes);
  CUBBY_RETURN_IF_ERROR(blobs.Put(digest, bytes));
  return digest;
}

absl::StatusOr<ImportedImage> ImportFolder(const BlobStore& blobs, const std::string& folder,
                                           const std::string& wanted_reference) {
  // docker save writes both forms since version 25; the OCI one is the stricter.
  if (FileExists(folder + "/index.json")) {
    CUBBY_ASSIGN_OR_RETURN(ImportedImage imported,
                           ImportOciLayout(blobs, folder, wanted_reference));
    return imported;
  }
  if (FileExists(folder + "/manifest.json")) {
    return ImportDockerArchive(blobs, folder, wanted_reference);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(folder,
                   ": neither an OCI layout (index.json) nor a docker archive "
                   "(manifest.json)"));
}

}  // namespace cubby
