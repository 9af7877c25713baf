#include "cubby/image/layer_unpacker.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <functional>

#include "cubby/base/file.h"
#include "cubby/image/blob_store.h"
#include "cubby/image/testing/tar_builder.h"
#include "cubby/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

using Compression = TarBuilder::Compression;
using testing::HasSubstr;

class LayerUnpackerTest : public testing::Test {
 protected:
  LayerUnpackerTest() : folder_(*TemporaryDirectory::Create("/tmp", "cubby-layer-")) {}

  absl::Status Unpack(const std::function<void(TarBuilder&)>& fill,
                      Compression compression = Compression::kNone,
                      const UnpackLimits& limits = {}) {
    const std::string tar = Path("layer.tar");
    {
      TarBuilder builder(tar, compression);
      fill(builder);
    }
    EXPECT_TRUE(RemoveTree(Path("root")).ok());
    EXPECT_TRUE(MakeDirectories(Path("root"), 0755).ok());
    return UnpackLayer(tar, Path("root"), "", limits);
  }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string Content(const std::string& name) const {
    return ReadSmallFile(Path("root/" + name)).value_or("(none)");
  }
  struct stat Stat(const std::string& name) const {
    struct stat st {};
    EXPECT_EQ(lstat(Path("root/" + name).c_str(), &st), 0) << name;
    return st;
  }

  TemporaryDirectory folder_;
};

TEST_F(LayerUnpackerTest, EveryKindOfEntrySurvivesInEveryCompression) {
  for (Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    const std::string long_name(200, 'n');
    const absl::Status status = Unpack(
        [&](TarBuilder& tar) {
          tar.Folder("./", 0755);
          tar.Folder("d", 01777);
          tar.File("./d/setuid", "s", {.mode = 04755, .uid = 7, .gid = 8, .mtime = 1234567890});
          tar.File("xattr", "x",
                   {.xattr_name = "user.note", .xattr_value = std::string("a\0b", 3)});
          tar.HardLink("hard", "d/setuid");
          tar.Symlink("absolute", "/etc/passwd");
          tar.Device("fifo", S_IFIFO, 0, 0);
          tar.Device("null", S_IFCHR, 1, 3);
          tar.File(long_name + "/" + long_name, "deep");
          tar.File("no/parents/named", "p");
        },
        compression);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(Stat("d").st_mode, S_IFDIR | 01777u);
    EXPECT_EQ(Stat("d/setuid").st_mode, S_IFREG | 04755u);
    EXPECT_EQ(Stat("d/setuid").st_uid, 7u);
    EXPECT_EQ(Stat("d/setuid").st_gid, 8u);
    EXPECT_EQ(Stat("d/setuid").st_mtime, 1234567890);
    EXPECT_EQ(Stat("d").st_mtime, 1000000000);
    EXPECT_EQ(Stat("hard").st_ino, Stat("d/setuid").st_ino);
    EXPECT_TRUE(S_ISLNK(Stat("absolute").st_mode));
    EXPECT_TRUE(S_ISFIFO(Stat("fifo").st_mode));
    EXPECT_EQ(Stat("null").st_rdev, makedev(1, 3));
    EXPECT_EQ(Content(long_name + "/" + long_name), "deep");
    EXPECT_EQ(Content("no/parents/named"), "p");
    char value[8] = {};
    EXPECT_EQ(getxattr(Path("root/xattr").c_str(), "user.note", value, sizeof(value)), 3);
  }
}

TEST_F(LayerUnpackerTest, EntriesThatLeaveTheRootAreRefusedByName) {
  const std::function<void(TarBuilder&)> attacks[] = {
      [](TarBuilder& tar) { tar.File("../evil", "x"); },
      [](TarBuilder& tar) { tar.File("a/../../evil", "x"); },
      [](TarBuilder& tar) { tar.File("/evil", "x"); },
      [](TarBuilder& tar) {
        tar.Symlink("evil", "/tmp");
        tar.File("evil/x", "x");
      },
      [](TarBuilder& tar) {
        tar.Symlink("evil", "../..");
        tar.File("evil/x", "x");
      },
      [](TarBuilder& tar) {
        tar.Symlink("evil", "/tmp");
        tar.Folder("evil/x");
      },
      [](TarBuilder& tar) { tar.HardLink("evil", "/etc/passwd"); },
      [](TarBuilder& tar) { tar.HardLink("evil", "../../../etc/passwd"); },
      [](TarBuilder& tar) {
        tar.Symlink("evil", "/etc");
        tar.HardLink("x", "evil/passwd");
      },
      [](TarBuilder& tar) {
        tar.Symlink("evil", "/tmp");
        tar.File("evil/.wh.x", "");
      },
      [](TarBuilder& tar) { tar.File("evil/.wh...", ""); },
      [](TarBuilder& tar) { tar.File("evil/.wh.", ""); },
  };
  for (const auto& attack : attacks) {
    const absl::Status status = Unpack(attack);
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("layer entry"));
  }
  EXPECT_THAT(*ListDirectory(folder_.path()), testing::ElementsAre("layer.tar", "root"));
}

TEST_F(LayerUnpackerTest, SymlinkIsReplacedAndNeverWrittenThrough) {
  const absl::Status status = Unpack([](TarBuilder& tar) {
    tar.Symlink("f", "/etc/passwd");
    tar.File("f", "mine");
    tar.Folder("inside");
    tar.Symlink("link", "inside");
    tar.File("link/x", "through a link that stays inside");
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Content("f"), "mine");
  EXPECT_TRUE(S_ISREG(Stat("f").st_mode));
  EXPECT_EQ(Content("inside/x"), "through a link that stays inside");
}

TEST_F(LayerUnpackerTest, WhiteoutsHideWhatIsBelowInARealOverlay) {
  ASSERT_TRUE(Unpack([](TarBuilder& tar) {
                tar.File("gone", "");
                tar.File("stays", "below");
                tar.File("opaque/old", "");
                tar.File("again/old", "");
                tar.File("later/old", "");
              }).ok());
  ASSERT_EQ(rename(Path("root").c_str(), Path("lower").c_str()), 0);
  ASSERT_TRUE(Unpack([](TarBuilder& tar) {
                tar.File(".wh.gone", "");
                tar.Folder("opaque");
                tar.File("opaque/.wh..wh..opq", "");
                tar.File("opaque/new", "");
                tar.File(".wh.again", "");
                tar.File("again/new", "");
                tar.File("later/new", "");
                tar.File(".wh.later", "");
              }).ok());
  ASSERT_TRUE(MakeDirectories(Path("merged")).ok());
  const std::string options = "lowerdir=" + Path("root") + ":" + Path("lower");
  ASSERT_EQ(mount("none", Path("merged").c_str(), "overlay", MS_RDONLY, options.c_str()), 0);
  EXPECT_FALSE(FileExists(Path("merged/gone")));
  EXPECT_TRUE(FileExists(Path("merged/stays")));
  EXPECT_THAT(*ListDirectory(Path("merged/opaque")), testing::ElementsAre("new"));
  EXPECT_THAT(*ListDirectory(Path("merged/again")), testing::ElementsAre("new"));
  EXPECT_THAT(*ListDirectory(Path("merged/later")), testing::ElementsAre("new"));
  ASSERT_EQ(umount(Path("merged").c_str()), 0);
}

TEST_F(LayerUnpackerTest, ModesDoNotDependOnTheUmask) {
  const mode_t before = umask(077);
  const absl::Status status = Unpack([](TarBuilder& tar) {
    tar.File("no/parents/named", "x", {.mode = 0666});
    tar.Folder("open", 01777);
  });
  umask(before);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Stat("").st_mode, S_IFDIR | 0755u);
  EXPECT_EQ(Stat("no").st_mode, S_IFDIR | 0755u);
  EXPECT_EQ(Stat("no/parents").st_mode, S_IFDIR | 0755u);
  EXPECT_EQ(Stat("no/parents/named").st_mode, S_IFREG | 0666u);
  EXPECT_EQ(Stat("open").st_mode, S_IFDIR | 01777u);
}

TEST_F(LayerUnpackerTest, CapabilitiesSurviveBesideAnOwnerAndSetuid) {
  // struct vfs_ns_cap_data, revision 2, effective: CAP_NET_BIND_SERVICE.
  const std::string capability("\1\0\0\2\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
  ASSERT_TRUE(Unpack([&](TarBuilder& tar) {
                tar.File("server", "x",
                         {.mode = 06755,
                          .uid = 1000,
                          .xattr_name = "security.capability",
                          .xattr_value = capability});
              }).ok());
  char value[64] = {};
  ASSERT_EQ(getxattr(Path("root/server").c_str(), "security.capability", value, sizeof(value)), 20);
  EXPECT_EQ(std::string(value, 20), capability);
  EXPECT_EQ(Stat("server").st_mode, S_IFREG | 06755u);
  EXPECT_EQ(Stat("server").st_uid, 1000u);
}

TEST_F(LayerUnpackerTest, NamesThatAreNotAsciiSurviveInEveryLocale) {
  const std::string utf8 = "F\xc5\x91tan\xc3\xba.crt", latin1 = "caf\xe9.txt";
  for (const std::string& name : {utf8, latin1}) {
    ASSERT_TRUE(Unpack([&](TarBuilder& tar) {
                  tar.File(name, "x");
                  tar.Symlink("symlink", name);
                  tar.HardLink("hard", name);
                }).ok());
    EXPECT_EQ(Content(name), "x");
    EXPECT_EQ(Content("symlink"), "x");
    EXPECT_EQ(Content("hard"), "x");
  }
}

TEST_F(LayerUnpackerTest, MetadataOfAufsIsNoPartOfTheImage) {
  ASSERT_TRUE(Unpack([](TarBuilder& tar) {
                tar.File(".wh..wh.aufs", "");
                tar.Folder(".wh..wh.plnk");
                tar.File("f", "");
              }).ok());
  EXPECT_THAT(*ListDirectory(Path("root")), testing::ElementsAre("f"));
}

TEST_F(LayerUnpackerTest, ImageCannotSpeakToOurOverlay) {
  const absl::Status status = Unpack([](TarBuilder& tar) {
    tar.File("f", "x", {.xattr_name = "trusted.overlay.redirect", .xattr_value = "/etc"});
  });
  ASSERT_TRUE(status.ok()) << status;
  char value[8];
  EXPECT_LT(getxattr(Path("root/f").c_str(), "trusted.overlay.redirect", value, sizeof(value)), 0);
}

TEST_F(LayerUnpackerTest, SizeAndCountAreBounded) {
  const auto big = [](TarBuilder& tar) { tar.File("big", std::string(100000, 'x')); };
  EXPECT_EQ(Unpack(big, Compression::kGzip, {.max_bytes = 99999}).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Unpack(big, Compression::kGzip, {.max_bytes = 100000}).ok());
  // After its end an archive may go on with padding, which hardly takes space in the blob.
  EXPECT_TRUE(Unpack([](TarBuilder& tar) { tar.File("f", "x"); }).ok());
  std::string padded = *ReadSmallFile(Path("layer.tar"));
  padded.append(1 << 20, '\0');
  ASSERT_TRUE(WriteFileAtomically(Path("padded"), padded).ok());
  ASSERT_TRUE(MakeDirectories(Path("p")).ok());
  EXPECT_EQ(
      UnpackLayer(Path("padded"), Path("p"), "", {.max_bytes = 1000, .max_overhead_bytes = 100000})
          .code(),
      absl::StatusCode::kResourceExhausted);
  const auto many = [](TarBuilder& tar) {
    for (int i = 0; i < 11; ++i) tar.File("f" + std::to_string(i), "");
  };
  EXPECT_EQ(Unpack(many, Compression::kNone, {.max_entries = 10}).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(LayerUnpackerTest, ContentMustHaveItsDiffId) {
  ASSERT_TRUE(Unpack([](TarBuilder& tar) { tar.File("f", "x"); }).ok());
  const std::string diff_id = *Sha256OfFile(Path("layer.tar"));
  ASSERT_TRUE(MakeDirectories(Path("a")).ok());
  EXPECT_TRUE(UnpackLayer(Path("layer.tar"), Path("a"), diff_id).ok());
  ASSERT_TRUE(MakeDirectories(Path("b")).ok());
  EXPECT_EQ(UnpackLayer(Path("layer.tar"), Path("b"), "sha256:" + std::string(64, '0')).code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(LayerUnpackerTest, DamagedArchivesAreDataLoss) {
  ASSERT_TRUE(
      Unpack([](TarBuilder& tar) { tar.File("f", std::string(50000, 'q')); }, Compression::kGzip)
          .ok());
  const std::string whole = *ReadSmallFile(Path("layer.tar"));
  for (const std::string& damaged :
       {whole.substr(0, whole.size() / 2), std::string("not an archive at all"),
        whole.substr(0, 30) + std::string(50, '\xff') + whole.substr(80)}) {
    ASSERT_TRUE(WriteFileAtomically(Path("damaged"), damaged).ok());
    ASSERT_TRUE(RemoveTree(Path("root")).ok());
    ASSERT_TRUE(MakeDirectories(Path("root")).ok());
    EXPECT_EQ(UnpackLayer(Path("damaged"), Path("root"), "").code(), absl::StatusCode::kDataLoss);
  }
}

TEST_F(LayerUnpackerTest, FullDiskIsSaid) {
  ASSERT_TRUE(MakeDirectories(Path("small")).ok());
  ASSERT_EQ(mount("none", Path("small").c_str(), "tmpfs", 0, "size=64k"), 0);
  {
    TarBuilder tar(Path("layer.tar"), Compression::kNone);
    tar.File("big", std::string(1 << 20, 'x'));
  }
  EXPECT_EQ(UnpackLayer(Path("layer.tar"), Path("small"), "").code(),
            absl::StatusCode::kResourceExhausted);
  ASSERT_EQ(umount(Path("small").c_str()), 0);
}

}  // namespace
}  // namespace cubby
