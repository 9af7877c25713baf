#include "cubby/image/store.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cubby/base/file.h"
#include "cubby/base/ids.h"
#include "cubby/base/log.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/image/archive_file.h"
#include "cubby/image/blob_store.h"
#include "cubby/image/digest.h"
#include "cubby/image/image_exporter.h"
#include "cubby/image/image_index.h"
#include "cubby/image/image_writer.h"
#include "cubby/image/layer_unpacker.h"
#include "cubby/image/manifest.h"
#include "cubby/image/pull.h"
#include "cubby/image/reference.h"
#include "cubby/image/rootfs_record.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr size_t kUnpackThreads = 2;

absl::StatusOr<std::string> FullName(const std::string& reference) {
  CUBBY_ASSIGN_OR_RETURN(const Reference parsed, ParseReference(reference));
  return parsed.ToString();
}

int64_t FileBytes(const std::string& path) {
  struct stat st {};
  return stat(path.c_str(), &st) == 0 ? st.st_size : 0;
}

int64_t TreeBytes(const std::string& path) {
  struct stat st {};
  if (lstat(path.c_str(), &st) != 0) return 0;
  int64_t bytes = st.st_blocks * 512;
  if (!S_ISDIR(st.st_mode)) return bytes;
  absl::StatusOr<std::vector<std::string>> names = ListDirectory(path);
  if (!names.ok()) return bytes;
  for (const std::string& name : *names) bytes += TreeBytes(JoinPath(path, name));
  return bytes;
}

class LocalImageStore : public ImageStore {
 public:
  explicit LocalImageStore(const StateDir& state)
      : root_(state.images()), blobs_(root_), index_(root_) {}

  absl::Status Prepare() { return blobs_.Prepare(); }

  absl::StatusOr<ImageInfo> Pull(const std::string& reference,
                                 const PullOptions& options) override {
    CUBBY_ASSIGN_OR_RETURN(const Reference parsed, ParseReference(reference));
    CUBBY_ASSIGN_OR_RETURN(const FileLock lock, KeepFromPruning());
    CUBBY_ASSIGN_OR_RETURN(const std::string digest, PullImage(blobs_, parsed, options));
    if (options.progress) options.progress({.step = "unpacking"});
    return Adopt(parsed.ToString(), digest);
  }

  absl::StatusOr<ImageInfo> Import(const std::string& path, const std::string& reference) override {
    struct stat st {};
    if (stat(path.c_str(), &st) != 0) return ErrnoError(errno, "import", path);
    CUBBY_ASSIGN_OR_RETURN(const FileLock lock, KeepFromPruning());
    absl::StatusOr<ImportedImage> imported;
    if (S_ISDIR(st.st_mode)) {
      imported = ImportFolder(blobs_, path, reference);
    } else {
      CUBBY_ASSIGN_OR_RETURN(const TemporaryDirectory folder,
                             TemporaryDirectory::Create(root_ + "/partial", "import-"));
      CUBBY_RETURN_IF_ERROR(ExtractArchive(path, folder.path()));
      imported = ImportFolder(blobs_, folder.path(), reference);
    }
    CUBBY_RETURN_IF_ERROR(imported.status());
    if (imported->reference.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("import ", path, ": the archive names no image; say how to call it"));
    }
    CUBBY_ASSIGN_OR_RETURN(const Reference name, ParseReference(imported->reference));
    // A name that pins its bytes must not lead to others.
    if (!name.digest.empty() && name.digest != imported->manifest_digest) {
      return absl::FailedPreconditionError(
          absl::StrCat("import ", path, ": the image's digest is ", imported->manifest_digest,
                       ", and not what the name pins; import it under a name without @"));
    }
    return Adopt(name.ToString(), imported->manifest_digest);
  }

  absl::StatusOr<ImageInfo> BuildBase(const BaseImageOptions& options) override {
    CUBBY_ASSIGN_OR_RETURN(const std::string name, FullName(options.reference));
    CUBBY_ASSIGN_OR_RETURN(const FileLock lock, KeepFromPruning());
    CUBBY_ASSIGN_OR_RETURN(const TemporaryDirectory folder,
                           TemporaryDirectory::Create(root_ + "/partial", "base-"));
    CUBBY_ASSIGN_OR_RETURN(const std::string digest,
                           BuildBaseImage(blobs_, folder.path(), options));
    if (options.progress) options.progress("unpacking");
    return Adopt(name, digest);
  }

  absl::Status Export(const std::string& reference, const std::string& path,
                      ExportFormat format) override;

  absl::StatusOr<std::vector<ImageInfo>> List() override {
    CUBBY_ASSIGN_OR_RETURN(const auto references, index_.Load());
    std::vector<ImageInfo> images;
    for (const auto& [reference, digest] : references) {
      absl::StatusOr<ImageInfo> info = Describe(reference, digest);
      if (info.ok()) {
        images.push_back(*std::move(info));
      } else {
        // A damaged image must not hide the others.
        Log(Severity::kWarning,
            absl::StrCat("image ", reference, " is not listed: ", info.status().message()));
      }
    }
    return images;
  }

  absl::StatusOr<ImageInfo> Inspect(const std::string& reference) override {
    CUBBY_ASSIGN_OR_RETURN(const std::string name, FullName(reference));
    CUBBY_ASSIGN_OR_RETURN(const std::string digest, index_.Find(name));
    return Describe(name, digest);
  }

  absl::Status Remove(const std::string& reference) override {
    CUBBY_ASSIGN_OR_RETURN(const std::string name, FullName(reference));
    return index_.Erase(name);
  }

  absl::StatusOr<int64_t> Prune(const std::vector<std::string>& layers_in_use) override;

  absl::StatusOr<ImageRootfs> Rootfs(const std::string& reference) override {
    CUBBY_ASSIGN_OR_RETURN(const std::string name, FullName(reference));
    CUBBY_ASSIGN_OR_RETURN(const std::string digest, index_.Find(name));
    return RootfsOf(digest);
  }

 private:
  // Whoever adds to the store holds it shared until what was added has a name, and so needs no luck
  // to be kept by a prune at the same time.
  [[nodiscard]] std::string StoreLock() const { return root_ + "/locks/store"; }
  [[nodiscard]] absl::StatusOr<FileLock> KeepFromPruning() const {
    return FileLock::AcquireShared(StoreLock());
  }
  [[nodiscard]] std::string LayerFolder(const std::string& digest) const {
    return absl::StrCat(root_, "/layers/", HexOf(digest));
  }
  [[nodiscard]] std::string RootfsFile(const std::string& digest) const {
    return absl::StrCat(root_, "/rootfs/", HexOf(digest), ".json");
  }

  // Unpacks an image that is in the blob store, and only then gives it its name: a name in the
  // store is an image that can be used at once.
  absl::StatusOr<ImageInfo> Adopt(const std::string& reference, const std::string& digest) {
    CUBBY_RETURN_IF_ERROR(RootfsOf(digest).status());
    CUBBY_RETURN_IF_ERROR(index_.Set(reference, digest));
    return Describe(reference, digest);
  }

  struct Parts {
    Manifest manifest;
    ParsedConfig config;
  };
  absl::StatusOr<Parts> LoadParts(const std::string& digest) const {
    CUBBY_ASSIGN_OR_RETURN(const std::string bytes, blobs_.Read(digest, kMaxManifestBytes));
    CUBBY_ASSIGN_OR_RETURN(auto parsed, ParseManifest("", bytes));
    auto* manifest = std::get_if<Manifest>(&parsed);
    if (manifest == nullptr) return absl::DataLossError("the store names an index as an image");
    Parts parts{.manifest = std::move(*manifest)};
    CUBBY_ASSIGN_OR_RETURN(const std::string config,
                           blobs_.Read(parts.manifest.config.digest, kMaxManifestBytes));
    CUBBY_ASSIGN_OR_RETURN(parts.config, ParseConfig(config));
    if (parts.config.diff_ids.size() != parts.manifest.layers.size()) {
      return absl::InvalidArgumentError(
          "the image's configuration and manifest do not list the same layers");
    }
    return parts;
  }

  absl::StatusOr<ImageInfo> Describe(const std::string& reference,
                                     const std::string& digest) const {
    CUBBY_ASSIGN_OR_RETURN(Parts parts, LoadParts(digest));
    ImageInfo info{.reference = reference,
                   .digest = digest,
                   .created = parts.config.created,
                   .config = std::move(parts.config.config)};
    for (const Descriptor& layer : parts.manifest.layers) {
      info.layers.push_back(layer.digest);
      info.compressed_bytes += FileBytes(blobs_.Path(layer.digest));
    }
    return info;
  }

  absl::Status UnpackOnce(const Descriptor& layer, const std::string& diff_id) const;
  absl::Status UnpackAll(const Parts& parts) const;
  absl::StatusOr<ImageRootfs> RootfsOf(const std::string& digest) const;
  std::optional<ImageRootfs> LoadRootfs(const std::string& digest) const;

  const std::string root_;
  const BlobStore blobs_;
  const ImageIndex index_;
};

absl::Status LocalImageStore::UnpackOnce(const Descriptor& layer,
                                         const std::string& diff_id) const {
  const std::string folder = LayerFolder(layer.digest);
  if (FileExists(folder)) return absl::OkStatus();
  CUBBY_ASSIGN_OR_RETURN(const FileLock lock, blobs_.Lock(layer.digest));
  if (FileExists(folder)) return absl::OkStatus();
  const std::string building = absl::StrCat(folder, ".tmp-", RandomHex(4));
  CUBBY_RETURN_IF_ERROR(MakeDirectories(building, 0755));
  absl::Status status = UnpackLayer(blobs_.Path(layer.digest), building, diff_id);
  if (absl::IsDataLoss(status)) {
    // Either the blob has rotted, or its maker was wrong.
    if (absl::Status rotten = blobs_.Verify(layer.digest); !rotten.ok()) status = rotten;
  }
  if (status.ok() && rename(building.c_str(), folder.c_str()) != 0) {
    status = ErrnoError(errno, "rename", building);
  }
  if (!status.ok()) RemoveTree(building).IgnoreError();  // Prune takes what could not go
  return Annotate(status, absl::StrCat("unpack layer ", layer.digest));
}

absl::Status LocalImageStore::UnpackAll(const Parts& parts) const {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  absl::Status first_error;
  const auto work = [&] {
    for (size_t i = next++; i < parts.manifest.layers.size(); i = next++) {
      const absl::Status status = UnpackOnce(parts.manifest.layers[i], parts.config.diff_ids[i]);
      if (status.ok()) continue;
      std::lock_guard<std::mutex> lock(mutex);
      if (first_error.ok()) first_error = status;
    }
  };
  std::vector<std::thread> threads;
  const size_t count = std::min(kUnpackThreads, parts.manifest.layers.size());
  for (size_t i = 1; i < count; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return first_error;
}

std::optional<ImageRootfs> LocalImageStore::LoadRootfs(const std::string& digest) const {
  const absl::StatusOr<std::string> text = ReadSmallFile(RootfsFile(digest), kMaxManifestBytes);
  if (!text.ok()) return std::nullopt;
  std::optional<RootfsRecord> record = ParseRootfsRecord(*text);
  if (!record) return std::nullopt;
  ImageRootfs rootfs{.digest = digest,
                     .config = std::move(record->config),
                     .layer_digests = std::move(record->layer_digests)};
  for (const std::string& layer : rootfs.layer_digests) {
    rootfs.layer_folders.push_back(LayerFolder(layer));
    if (!FileExists(rootfs.layer_folders.back())) return std::nullopt;
  }
  return rootfs;
}

absl::StatusOr<ImageRootfs> LocalImageStore::RootfsOf(const std::string& digest) const {
  // Written by us once everything is unpacked: making a sandbox reads this one small file.
  if (std::optional<ImageRootfs> known = LoadRootfs(digest)) return *std::move(known);
  CUBBY_ASSIGN_OR_RETURN(const FileLock lock, KeepFromPruning());
  CUBBY_ASSIGN_OR_RETURN(Parts parts, LoadParts(digest));
  CUBBY_RETURN_IF_ERROR(UnpackAll(parts));
  ImageRootfs rootfs{.digest = digest, .config = std::move(parts.config.config)};
  for (const Descriptor& layer : parts.manifest.layers) {
    rootfs.layer_digests.push_back(layer.digest);
    rootfs.layer_folders.push_back(LayerFolder(layer.digest));
  }
  CUBBY_RETURN_IF_ERROR(WriteFileAtomically(
      RootfsFile(digest),
      FormatRootfsRecord({.config = rootfs.config, .layer_digests = rootfs.layer_digests})));
  return rootfs;
}

absl::Status LocalImageStore::Export(const std::string& reference, const std::string& path,
                                     ExportFormat format) {
  CUBBY_ASSIGN_OR_RETURN(const FileLock lock, KeepFromPruning());
  CUBBY_ASSIGN_OR_RETURN(const std::string name, FullName(reference));
  CUBBY_ASSIGN_OR_RETURN(const std::string digest, index_.Find(name));
  CUBBY_ASSIGN_OR_RETURN(Parts parts, LoadParts(digest));
  CUBBY_ASSIGN_OR_RETURN(const TemporaryDirectory work,
                         TemporaryDirectory::Create(root_ + "/partial", "export-"));
  return ExportImage(
      blobs_, {.reference = name, .manifest_digest = digest, .manifest = std::move(parts.manifest)},
      format, work.path(), path);
}

absl::StatusOr<int64_t> LocalImageStore::Prune(const std::vector<std::string>& layers_in_use) {
  // Alone with the store, everything that no name leads to is garbage: nobody is about to name it.
  const absl::StatusOr<FileLock> lock = FileLock::TryAcquire(StoreLock());
  if (!lock.ok()) {
    return Annotate(lock.status(),
                    "prune: an image is being pulled, imported, exported or unpacked; prune again "
                    "afterwards");
  }
  std::set<std::string> blobs_needed, layers_needed, images_needed;
  for (const std::string& layer : layers_in_use) {
    if (IsDigest(layer)) layers_needed.insert(HexOf(layer));
  }
  CUBBY_ASSIGN_OR_RETURN(const auto references, index_.Load());
  for (const auto& [reference, digest] : references) {
    const absl::StatusOr<Parts> parts = LoadParts(digest);
    // Its layers are not known, and so not what may go.
    if (!parts.ok()) {
      return Annotate(parts.status(),
                      absl::StrCat("prune: image ", reference, " must be whole or removed"));
    }
    images_needed.insert(HexOf(digest) + ".json");
    blobs_needed.insert(HexOf(digest));
    blobs_needed.insert(HexOf(parts->manifest.config.digest));
    for (const Descriptor& layer : parts->manifest.layers) {
      blobs_needed.insert(HexOf(layer.digest));
      layers_needed.insert(HexOf(layer.digest));
    }
  }
  int64_t freed = 0;
  const auto sweep = [&](const std::string& folder,
                         const std::set<std::string>& needed) -> absl::Status {
    CUBBY_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(folder));
    for (const std::string& name : names) {
      if (needed.contains(name)) continue;
      const std::string path = JoinPath(folder, name);
      freed += TreeBytes(path);
      CUBBY_RETURN_IF_ERROR(RemoveTree(path));
    }
    return absl::OkStatus();
  };
  // The short form of a rootfs first: without it nobody takes a layer for present.
  CUBBY_RETURN_IF_ERROR(sweep(root_ + "/rootfs", images_needed));
  CUBBY_RETURN_IF_ERROR(sweep(root_ + "/layers", layers_needed));
  CUBBY_RETURN_IF_ERROR(sweep(root_ + "/blobs/sha256", blobs_needed));
  CUBBY_RETURN_IF_ERROR(sweep(root_ + "/partial", {}));
  return freed;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImageStore>> ImageStore::Open(const StateDir& state) {
  auto store = std::make_unique<LocalImageStore>(state);
  CUBBY_RETURN_IF_ERROR(store->Prepare());
  return store;
}

}  // namespace cubby
