#include "cubby/image/store.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "cubby/base/file.h"
#include "cubby/base/subprocess.h"
#include "cubby/image/blob_store.h"
#include "cubby/image/digest.h"
#include "cubby/image/image_writer.h"
#include "cubby/image/manifest.h"
#include "cubby/image/testing/tar_builder.h"
#include "cubby/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace cubby {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

class StoreTest : public testing::Test {
 protected:
  StoreTest() : folder_(*TemporaryDirectory::Create("/tmp", "cubby-store-")) { Reopen(); }

  void Reopen() {
    state_.emplace(*StateDir::Open(Path("state")));
    store_ = *ImageStore::Open(*state_);
  }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string BlobPath(const std::string& digest) const {
    return Path("state/images/blobs/sha256/" + HexOf(digest));
  }

  // An OCI layout with one file per layer, written by an independent tool's rules.
  std::string MakeLayout(const std::string& name, const std::vector<std::string>& files,
                         const std::string& architecture = HostArchitecture()) {
    const std::string root = Path(name);
    EXPECT_TRUE(MakeDirectories(root + "/blobs/sha256").ok());
    nlohmann::json layers = nlohmann::json::array(), diff_ids = nlohmann::json::array();
    const auto put = [&](const std::string& bytes, const char* type) {
      const std::string digest = Sha256Of(bytes);
      EXPECT_TRUE(WriteFileAtomically(root + "/blobs/sha256/" + HexOf(digest), bytes, 0644).ok());
      return nlohmann::json{{"mediaType", type}, {"digest", digest}, {"size", bytes.size()}};
    };
    for (const std::string& file : files) {
      const std::string tar = Path("one.tar");
      {
        TarBuilder builder(tar, TarBuilder::Compression::kNone);
        builder.File(file, "content of " + file);
      }
      const std::string bytes = *ReadSmallFile(tar);
      layers.push_back(put(bytes, kOciLayerType));
      diff_ids.push_back(Sha256Of(bytes));
    }
    const nlohmann::json config = {
        {"architecture", architecture},
        {"os", "linux"},
        {"config", {{"Env", {"A=1"}}, {"User", "agent"}, {"WorkingDir", "/w"}, {"Cmd", {"sh"}}}},
        {"rootfs", {{"type", "layers"}, {"diff_ids", diff_ids}}}};
    const nlohmann::json manifest = {{"schemaVersion", 2},
                                     {"mediaType", kOciManifestType},
                                     {"config", put(config.dump(), kOciConfigType)},
                                     {"layers", layers}};
    nlohmann::json entry = put(manifest.dump(), kOciManifestType);
    entry["annotations"] = {{"org.opencontainers.image.ref.name", "localhost/from-layout:1"}};
    EXPECT_TRUE(
        WriteFileAtomically(root + "/index.json",
                            nlohmann::json{{"schemaVersion", 2}, {"manifests", {entry}}}.dump())
            .ok());
    EXPECT_TRUE(
        WriteFileAtomically(root + "/oci-layout", R"({"imageLayoutVersion":"1.0.0"})").ok());
    return root;
  }
  static bool Host(std::vector<std::string> argv) {
    const auto result = RunCommand(
        {.argv = std::move(argv), .environment = {"PATH=/usr/bin:/bin", "HOME=/nonexistent"}},
        Deadline::After(absl::Seconds(60)));
    if (result.ok() && !result->status.success()) ADD_FAILURE() << result->err;
    return result.ok() && result->status.success();
  }

  TemporaryDirectory folder_;
  std::optional<StateDir> state_;
  std::unique_ptr<ImageStore> store_;
};

TEST_F(StoreTest, ImportedLayoutIsListedAndUnpacked) {
  absl::StatusOr<ImageInfo> info = store_->Import(MakeLayout("in", {"a", "b/c"}), "");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->reference, "localhost/from-layout:1");
  EXPECT_EQ(info->layers.size(), 2u);
  Reopen();  // another process sees the same
  absl::StatusOr<ImageRootfs> rootfs = store_->Rootfs("localhost/from-layout:1");
  ASSERT_TRUE(rootfs.ok()) << rootfs.status();
  EXPECT_EQ(rootfs->config.user, "agent");
  EXPECT_THAT(rootfs->config.environment, ElementsAre("A=1"));
  EXPECT_EQ(*ReadSmallFile(rootfs->layer_folders[1] + "/b/c"), "content of b/c");
  EXPECT_EQ(store_->List()->size(), 1u);
}

TEST_F(StoreTest, ForeignToolsReadWhatIsExportedAndBack) {
  ASSERT_TRUE(store_->Import(MakeLayout("in", {"a", "b"}), "localhost/x:1").ok());
  const struct {
    ImageStore::ExportFormat format;
    const char* transport;
  } formats[] = {{ImageStore::ExportFormat::kOciLayout, "oci:"},
                 {ImageStore::ExportFormat::kOciArchive, "oci-archive:"},
                 {ImageStore::ExportFormat::kDockerArchive, "docker-archive:"}};
  for (const auto& [format, transport] : formats) {
    const std::string out = Path("out-" + std::to_string(static_cast<int>(format)));
    ASSERT_TRUE(store_->Export("localhost/x:1", out, format).ok()) << transport;
    EXPECT_EQ(store_->Export("localhost/x:1", out, format).code(),
              absl::StatusCode::kAlreadyExists);
    // Through another implementation, and in again.
    const std::string copied = Path("copy-" + std::to_string(static_cast<int>(format)));
    ASSERT_TRUE(Host({"skopeo", "--insecure-policy", "copy", "-q", transport + out,
                      "docker-archive:" + copied + ":localhost/copied:1"}))
        << transport;
    absl::StatusOr<ImageInfo> back = store_->Import(copied, "");
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->reference, "localhost/copied:1");
    absl::StatusOr<ImageRootfs> rootfs = store_->Rootfs("localhost/copied:1");
    ASSERT_TRUE(rootfs.ok()) << rootfs.status();
    EXPECT_EQ(*ReadSmallFile(rootfs->layer_folders[0] + "/a"), "content of a");
  }
}

TEST_F(StoreTest, ImageOfALayoutIsTheOneThatIsNamed) {
  const std::string one = MakeLayout("both", {"one"});
  const json first = json::parse(*ReadSmallFile(one + "/index.json"))["manifests"][0];
  const json second =
      json::parse(*ReadSmallFile(MakeLayout("both", {"two"}) + "/index.json"))["manifests"][0];
  const auto write = [&](json a, json b, const char* key, const char* name_a, const char* name_b) {
    a["annotations"] = b["annotations"] = {{"org.opencontainers.image.ref.name", "1"}};
    a["annotations"][key] = name_a;
    b["annotations"][key] = name_b;
    EXPECT_TRUE(WriteFileAtomically(one + "/index.json",
                                    json{{"schemaVersion", 2}, {"manifests", {a, b}}}.dump())
                    .ok());
  };
  // Docker's own form has the tag in the one annotation and the name in the other.
  for (const char* key : {"org.opencontainers.image.ref.name", "io.containerd.image.name"}) {
    write(first, second, key, "localhost/one:1", "localhost/two:1");
    ASSERT_TRUE(store_->Import(one, "localhost/two:1").ok());
    EXPECT_TRUE(FileExists(store_->Rootfs("localhost/two:1")->layer_folders.at(0) + "/two"));
    for (const char* unclear : {"", "localhost/three:1"}) {
      const absl::Status status = store_->Import(one, unclear).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(status.message()),
                  testing::HasSubstr("localhost/one:1, localhost/two:1"));
    }
  }
  // Two names of one image leave no doubt.
  write(first, first, "io.containerd.image.name", "docker.io/library/one:1", "localhost/x:1");
  EXPECT_EQ(store_->Import(one, "")->reference, "docker.io/library/one:1");
}

TEST_F(StoreTest, ImportedBytesMustBeThoseThatTheNamePins) {
  const std::string layout = MakeLayout("in", {"a"});
  const std::string digest = store_->Import(layout, "localhost/x:1")->digest;
  EXPECT_TRUE(store_->Import(layout, "localhost/x@" + digest).ok());
  const std::string other = "localhost/x@sha256:" + std::string(64, '0');
  EXPECT_EQ(store_->Import(layout, other).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(store_->Inspect(other).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(StoreTest, MissingImageTellsHowToGetIt) {
  const absl::Status status = store_->Rootfs("python:3.12-slim").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("cubby image pull"));
  EXPECT_EQ(store_->Remove("python:3.12-slim").code(), absl::StatusCode::kNotFound);
}

TEST_F(StoreTest, DamagedInputIsDataLossAndLeavesNoImage) {
  const std::string layout = MakeLayout("in", {"a"});
  const std::string blobs = layout + "/blobs/sha256";
  const std::vector<std::string> names = *ListDirectory(blobs);
  for (const std::string& name : names) {
    const std::string good = *ReadSmallFile(blobs + "/" + name);
    ASSERT_TRUE(WriteFileAtomically(blobs + "/" + name, good + " ").ok());
    const absl::Status status = store_->Import(layout, "localhost/x").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    ASSERT_TRUE(WriteFileAtomically(blobs + "/" + name, good).ok());
  }
  EXPECT_THAT(*store_->List(), IsEmpty());
  EXPECT_TRUE(store_->Import(layout, "localhost/x").ok());
}

TEST_F(StoreTest, LayerThatRotsInTheStoreIsNoticedAndRemoved) {
  absl::StatusOr<ImageInfo> info = store_->Import(MakeLayout("in", {"a"}), "localhost/x");
  ASSERT_TRUE(info.ok());
  const std::string blob = BlobPath(info->layers[0]);
  ASSERT_TRUE(WriteFileAtomically(blob, std::string(2000, 'r')).ok());
  ASSERT_TRUE(RemoveTree(Path("state/images/layers/" + HexOf(info->layers[0]))).ok());
  EXPECT_EQ(store_->Rootfs("localhost/x").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(FileExists(blob));
}

TEST_F(StoreTest, RootfsSaysAllOfTheConfigurationAlsoWhenItIsRemembered) {
  const std::string digest = store_->Import(MakeLayout("in", {"a"}), "localhost/x")->digest;
  const std::string record = Path("state/images/rootfs/" + HexOf(digest) + ".json");
  // Remembered; forgotten; remembered by somebody who writes other things.
  for (const char* content : {"", R"({"layers":1})", R"({"layers":[7],"user":7})", "{"}) {
    if (*content != '\0') {
      ASSERT_TRUE(WriteFileAtomically(record, content).ok());
    }
    absl::StatusOr<ImageRootfs> rootfs = store_->Rootfs("localhost/x");
    ASSERT_TRUE(rootfs.ok()) << rootfs.status();
    EXPECT_EQ(rootfs->config.working_directory, "/w");
    EXPECT_THAT(rootfs->config.command, ElementsAre("sh"));
    EXPECT_EQ(rootfs->config.architecture, HostArchitecture());
    EXPECT_EQ(rootfs->layer_folders.size(), 1u);
  }
}

TEST_F(StoreTest, DamagedImageHidesNoOtherAndAnImportHealsIt) {
  const std::string layout = MakeLayout("in", {"a"});
  ASSERT_TRUE(store_->Import(MakeLayout("other", {"b"}), "localhost/good").ok());
  absl::StatusOr<ImageInfo> info = store_->Import(layout, "localhost/rotten");
  ASSERT_TRUE(info.ok());
  ASSERT_TRUE(WriteFileAtomically(BlobPath(info->digest), "{}").ok());
  const absl::Status pruned = store_->Prune({}).status();
  EXPECT_EQ(pruned.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(pruned.message()), testing::HasSubstr("localhost/rotten"));
  ASSERT_EQ(store_->List()->size(), 1u);
  EXPECT_EQ(store_->List()->at(0).reference, "localhost/good:latest");
  ASSERT_TRUE(store_->Import(layout, "localhost/rotten").ok());
  EXPECT_EQ(store_->List()->size(), 2u);
  EXPECT_TRUE(store_->Prune({}).ok());
}

TEST_F(StoreTest, RottenLayerIsNeverExported) {
  const std::string layout = MakeLayout("in", {"a"});
  absl::StatusOr<ImageInfo> info = store_->Import(layout, "localhost/x");
  ASSERT_TRUE(info.ok());
  for (const auto format :
       {ImageStore::ExportFormat::kOciLayout, ImageStore::ExportFormat::kOciArchive,
        ImageStore::ExportFormat::kDockerArchive}) {
    ASSERT_TRUE(WriteFileAtomically(BlobPath(info->layers[0]), std::string(2000, 'r')).ok());
    EXPECT_EQ(store_->Export("localhost/x", Path("out/"), format).code(),
              absl::StatusCode::kDataLoss);
    EXPECT_FALSE(FileExists(Path("out")));
    ASSERT_TRUE(store_->Import(layout, "localhost/x").ok());
  }
  EXPECT_TRUE(
      store_->Export("localhost/x", Path("out/"), ImageStore::ExportFormat::kOciLayout).ok());
  EXPECT_TRUE(FileExists(Path("out/index.json")));
}

TEST_F(StoreTest, ExportToAFullDiskLeavesNothing) {
  std::vector<std::string> files;
  for (int i = 0; i < 100; ++i) files.push_back("file" + std::to_string(i));
  ASSERT_TRUE(store_->Import(MakeLayout("in", files), "localhost/big").ok());
  ASSERT_TRUE(MakeDirectories(Path("small")).ok());
  ASSERT_EQ(mount("none", Path("small").c_str(), "tmpfs", 0, "size=64k"), 0);
  for (const auto format :
       {ImageStore::ExportFormat::kOciLayout, ImageStore::ExportFormat::kOciArchive,
        ImageStore::ExportFormat::kDockerArchive}) {
    EXPECT_EQ(store_->Export("localhost/big", Path("small/out"), format).code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(*ListDirectory(Path("small")), IsEmpty());
  }
  EXPECT_THAT(*ListDirectory(Path("state/images/partial")), IsEmpty());
  ASSERT_EQ(umount(Path("small").c_str()), 0);
}

TEST_F(StoreTest, ProcessesUnpackOnce) {
  absl::StatusOr<ImageInfo> info = store_->Import(MakeLayout("in", {"a", "b", "c"}), "localhost/x");
  ASSERT_TRUE(info.ok());
  for (const char* folder : {"layers", "rootfs"}) {
    ASSERT_TRUE(RemoveTree(Path(std::string("state/images/") + folder)).ok());
  }
  Reopen();  // makes the folders
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(store_->Rootfs("localhost/x").ok() ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(ListDirectory(Path("state/images/layers"))->size(), 3u);
}

TEST_F(StoreTest, ManyCallersUnpackOnce) {
  absl::StatusOr<ImageInfo> info = store_->Import(MakeLayout("in", {"a", "b", "c"}), "localhost/x");
  ASSERT_TRUE(info.ok());
  for (const std::string& layer : info->layers) {
    ASSERT_TRUE(RemoveTree(Path("state/images/layers/" + HexOf(layer))).ok());
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] {
      absl::StatusOr<std::unique_ptr<ImageStore>> own = ImageStore::Open(*state_);
      absl::StatusOr<ImageRootfs> rootfs = (*own)->Rootfs("localhost/x");
      EXPECT_TRUE(rootfs.ok()) << rootfs.status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ListDirectory(Path("state/images/layers"))->size(), 3u) << "and no half-made folder";
}

TEST_F(StoreTest, PruneKeepsWhatIsNamedOrInUse) {
  absl::StatusOr<ImageInfo> kept = store_->Import(MakeLayout("one", {"a", "b"}), "localhost/kept");
  absl::StatusOr<ImageInfo> used = store_->Import(MakeLayout("two", {"a", "c"}), "localhost/used");
  absl::StatusOr<ImageInfo> gone = store_->Import(MakeLayout("three", {"d"}), "localhost/gone");
  ASSERT_TRUE(kept.ok() && used.ok() && gone.ok());
  ASSERT_TRUE(store_->Remove("localhost/used").ok());
  ASSERT_TRUE(store_->Remove("localhost/gone").ok());
  absl::StatusOr<int64_t> freed = store_->Prune(used->layers);
  ASSERT_TRUE(freed.ok()) << freed.status();
  EXPECT_GT(*freed, 0);
  EXPECT_TRUE(store_->Rootfs("localhost/kept").ok());
  EXPECT_TRUE(FileExists(Path("state/images/layers/" + HexOf(used->layers[1]))));
  EXPECT_FALSE(FileExists(Path("state/images/layers/" + HexOf(gone->layers[0]))));
  EXPECT_FALSE(FileExists(BlobPath(gone->layers[0])));
  EXPECT_EQ(*store_->Prune(used->layers), 0) << "a second time there is nothing";
}

TEST_F(StoreTest, PruneWaitsForNobodyAndDisturbsNobody) {
  ASSERT_TRUE(store_->Import(MakeLayout("in", {"a"}), "localhost/x").ok());
  // What a process leaves that was killed on its way.
  const std::string images = Path("state/images");
  const std::string left[] = {images + "/partial/import-x7Hq1z/blobs",
                              images + "/layers/" + std::string(64, 'a') + ".tmp-01020304/usr"};
  for (const std::string& path : left) ASSERT_TRUE(MakeDirectories(path).ok());
  {
    const absl::StatusOr<FileLock> somebody = FileLock::AcquireShared(images + "/locks/store");
    ASSERT_TRUE(somebody.ok());
    const absl::Status status = store_->Prune({}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(IsRetryable(status));
    for (const std::string& path : left) EXPECT_TRUE(FileExists(path));
    EXPECT_TRUE(store_->Import(MakeLayout("two", {"b"}), "localhost/y").ok());
  }
  EXPECT_TRUE(store_->Prune({}).ok());
  EXPECT_EQ(ListDirectory(images + "/layers")->size(), 2u);
  EXPECT_THAT(*ListDirectory(images + "/partial"), IsEmpty());
}

TEST_F(StoreTest, FullDiskIsSaidAndLeavesNoHalfImage) {
  ASSERT_TRUE(MakeDirectories(Path("small")).ok());
  ASSERT_EQ(mount("none", Path("small").c_str(), "tmpfs", 0, "size=256k"), 0);
  {
    const StateDir state = *StateDir::Open(Path("small/state"));
    const std::unique_ptr<ImageStore> store = *ImageStore::Open(state);
    std::vector<std::string> files;
    for (int i = 0; i < 200; ++i) files.push_back("file" + std::to_string(i));
    const absl::Status status = store->Import(MakeLayout("in", files), "localhost/big").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(*store->List(), IsEmpty());
  }
  ASSERT_EQ(umount(Path("small").c_str()), 0);
}

TEST_F(StoreTest, ImageOfAnotherArchitectureIsChosenByNameOrRefused) {
  const std::vector<Descriptor> index = {
      {.digest = "arm", .architecture = "arm64", .os = "linux"},
      {.digest = "attestation", .architecture = "unknown", .os = "unknown"},
      {.digest = "intel", .architecture = "amd64", .os = "linux"}};
  EXPECT_EQ(ChoosePlatform(index, "amd64")->digest, "intel");
  const absl::Status status = ChoosePlatform(index, "riscv64").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("linux/amd64, linux/arm64"));
}

TEST_F(StoreTest, ManifestsOfStrangersNeverCrash) {
  for (const std::string& bad :
       {std::string(""), std::string("null"), std::string("[]"), std::string("{}"),
        std::string(R"({"config":1})"), std::string(R"({"config":{},"layers":[]})"),
        std::string(R"({"manifests":{}})"), std::string(R"({"manifests":[1]})"),
        std::string(R"({"manifests":[{"digest":"sha256:00","size":-1}]})"),
        std::string(100000, '['), std::string("{\"a\":") + std::string(100000, '[')}) {
    EXPECT_FALSE(ParseManifest("", bad).ok());
  }
  EXPECT_FALSE(ParseConfig(std::string(5 << 20, ' ')).ok());
  EXPECT_TRUE(ParseConfig(R"({"config":{"Env":[1,null,"A=1"],"User":7}})").ok());
}

}  // namespace
}  // namespace cubby
