#include "cubby/cli/copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cubby/base/file.h"
#include "cubby/base/host_tree.h"
#include "cubby/cli/testing/fake_provider.h"

namespace cubby::cli {
namespace {

using ::testing::ElementsAre;
using testing::FakeSandbox;
using ::testing::HasSubstr;

class CopyTest : public ::testing::Test {
 protected:
  CopyTest()
      : temporary_(*TemporaryDirectory::Create(::testing::TempDir(), "cubby-copy-")),
        host_(temporary_.path()),
        sandbox_("00000000000000aa") {
    sandbox_.AddEntry("/w", FileType::kDirectory, 0750);
    sandbox_.AddFile("/w/a", "content of a", 04755);
    sandbox_.AddEntry("/w/sub", FileType::kDirectory, 0555);
    sandbox_.AddFile("/w/sub/b\n\xff", "b");
  }

  absl::Status Out(const std::string& source, const std::string& destination) {
    return CopyOut(
        sandbox_, source, destination, [] { return false; }, &report_);
  }
  absl::Status In(const std::string& source, const std::string& destination) {
    return CopyIn(source, sandbox_, destination, &report_);
  }
  std::string Read(const std::string& name) {
    const auto content = ReadSmallFile(host_ + "/" + name);
    return content.ok() ? *content : "(" + std::string(content.status().message()) + ")";
  }
  mode_t ModeOf(const std::string& name) {
    struct stat status = {};
    EXPECT_EQ(lstat((host_ + "/" + name).c_str(), &status), 0) << name;
    return status.st_mode & 07777;
  }

  TemporaryDirectory temporary_;
  std::string host_;
  FakeSandbox sandbox_;
  CopyReport report_;
};

TEST_F(CopyTest, AFileGetsTheDestinationsNameOrGoesIntoAFolder) {
  ASSERT_TRUE(Out("/w/a", host_ + "/new").ok());
  EXPECT_EQ(Read("new"), "content of a");
  EXPECT_EQ(ModeOf("new"), 0755U) << "set-id bits are dropped";
  ASSERT_TRUE(Out("/w/a", host_).ok());
  EXPECT_EQ(Read("a"), "content of a");
  EXPECT_TRUE(absl::IsNotFound(Out("/w/a", host_ + "/missing/")));
  EXPECT_TRUE(absl::IsNotFound(Out("/w/none", host_)));
}

TEST_F(CopyTest, AFolderIsCopiedWholeWithModesAndOddNames) {
  ASSERT_TRUE(Out("/w", host_ + "/copy").ok());
  EXPECT_EQ(Read("copy/a"), "content of a");
  EXPECT_EQ(Read("copy/sub/b\n\xff"), "b");
  EXPECT_EQ(ModeOf("copy"), 0750U);
  EXPECT_EQ(ModeOf("copy/sub"), 0555U);
  EXPECT_EQ(report_.files, 2);
  EXPECT_EQ(report_.directories, 2);
  EXPECT_EQ(report_.bytes, 13);

  ASSERT_TRUE(Out("/w", host_ + "/copy").ok());
  EXPECT_EQ(Read("copy/w/a"), "content of a") << "into the folder that is there now";
  ASSERT_TRUE(Out("/w/.", host_ + "/copy").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Out("/w", host_ + "/copy/a")));
}

TEST_F(CopyTest, NamesThatAreNotNamesAreRefused) {
  ASSERT_TRUE(MakeDirectories(host_ + "/copy").ok());
  for (const char* path : {"/w/../escape", "/w/..", "/w/.", "/w/", "/etc/passwd", "/w/x/y", "w/a",
                           "..", "", "/w//a"}) {
    sandbox_.listings["/w"] = {.entries = {{.path = path, .type = FileType::kFile}}};
    sandbox_.contents[path] = "evil";
    const absl::Status copied = Out("/w/.", host_ + "/copy");
    EXPECT_TRUE(absl::IsPermissionDenied(copied)) << path << ": " << copied;
  }
  EXPECT_THAT(*ListDirectory(host_), ElementsAre("copy"));
  EXPECT_TRUE(ListDirectory(host_ + "/copy")->empty());
}

TEST_F(CopyTest, SymlinksOfTheDestinationAreNotFollowed) {
  const std::string outside = host_ + "/outside";
  ASSERT_TRUE(MakeDirectories(outside).ok());
  ASSERT_TRUE(MakeDirectories(host_ + "/copy").ok());
  ASSERT_EQ(symlink(outside.c_str(), (host_ + "/copy/sub").c_str()), 0);
  const absl::Status copied = Out("/w/.", host_ + "/copy");
  EXPECT_TRUE(absl::IsFailedPrecondition(copied)) << copied;
  EXPECT_THAT(std::string(copied.message()), HasSubstr("symlink"));
  EXPECT_TRUE(ListDirectory(outside)->empty());

  // A symlink in the place of a file is replaced; what it points to is not touched.
  ASSERT_TRUE(WriteFileAtomically(outside + "/target", "old").ok());
  unlink((host_ + "/copy/a").c_str());
  ASSERT_EQ(symlink((outside + "/target").c_str(), (host_ + "/copy/a").c_str()), 0);
  ASSERT_TRUE(Out("/w/a", host_ + "/copy").ok());
  EXPECT_EQ(Read("outside/target"), "old");
  EXPECT_EQ(Read("copy/a"), "content of a");
}

TEST_F(CopyTest, AListedLinkThenAFolderOfItsNameDoesNotLeadOut) {
  // The sandbox first has us make a symlink, then lists a folder of the same name.
  const std::string outside = host_ + "/outside";
  ASSERT_TRUE(MakeDirectories(outside).ok());
  sandbox_.listings["/w"] = {
      .entries = {{.path = "/w/x", .type = FileType::kSymlink, .link_target = outside},
                  {.path = "/w/x", .type = FileType::kSymlink, .link_target = "../outside"},
                  {.path = "/w/x", .type = FileType::kSymlink, .link_target = "y/../../outside"},
                  {.path = "/w/y", .type = FileType::kSymlink, .link_target = "sub"},
                  {.path = "/w/sub", .type = FileType::kDirectory, .mode = 0755},
                  {.path = "/w/y", .type = FileType::kDirectory, .mode = 0755}}};
  sandbox_.listings["/w/y"] = {.entries = {{.path = "/w/y/f", .type = FileType::kFile}}};
  sandbox_.contents["/w/y/f"] = "evil";
  const absl::Status copied = Out("/w", host_ + "/copy");
  EXPECT_TRUE(absl::IsFailedPrecondition(copied)) << copied;
  EXPECT_EQ(report_.skipped_count, 3);
  EXPECT_TRUE(ListDirectory(outside)->empty());
  EXPECT_NE(access((host_ + "/copy/sub/f").c_str(), F_OK), 0);
}

TEST_F(CopyTest, LinksInsideOfTheCopyAreKeptAndOthersReported) {
  sandbox_.AddEntry("/w/good", FileType::kSymlink, 0777, "sub/b");
  sandbox_.AddEntry("/w/sub/up", FileType::kSymlink, 0777, "../a");
  sandbox_.AddEntry("/w/bad", FileType::kSymlink, 0777, "/etc/passwd");
  sandbox_.AddEntry("/w/pipe", FileType::kFifo);
  ASSERT_TRUE(Out("/w", host_ + "/copy").ok());
  EXPECT_EQ(report_.symlinks, 2);
  ASSERT_EQ(report_.skipped_count, 2);
  EXPECT_EQ(report_.skipped[0].path, "/w/bad");
  EXPECT_EQ(report_.skipped[1].path, "/w/pipe");
  EXPECT_EQ(Read("copy/sub/up"), "content of a");
}

TEST(StaysBelow, CountsLeadingStepsAndRefusesLaterOnes) {
  EXPECT_TRUE(StaysBelow("a", "b"));
  EXPECT_TRUE(StaysBelow("a/b", "../c"));
  EXPECT_TRUE(StaysBelow("a/b/c", "../../d/e"));
  EXPECT_TRUE(StaysBelow("a", "./b//c"));
  EXPECT_FALSE(StaysBelow("a", "../b"));
  EXPECT_FALSE(StaysBelow("a/b", "../../c"));
  EXPECT_FALSE(StaysBelow("a/b/c", "x/../d"));
  EXPECT_FALSE(StaysBelow("a", "/b"));
  EXPECT_FALSE(StaysBelow("a", ""));
}

TEST_F(CopyTest, ATransferThatBreaksLeavesTheOldFile) {
  ASSERT_TRUE(WriteFileAtomically(host_ + "/a", "old").ok());
  sandbox_.failures["/w/a"] = absl::UnavailableError("connection lost");
  EXPECT_TRUE(absl::IsUnavailable(Out("/w/a", host_)));
  EXPECT_EQ(Read("a"), "old");
  EXPECT_THAT(*ListDirectory(host_), ElementsAre("a"));
}

TEST_F(CopyTest, AnInterruptedCopyLeavesNothingHalfWritten) {
  const absl::Status copied = CopyOut(
      sandbox_, "/w/a", host_, [] { return true; }, &report_);
  EXPECT_TRUE(absl::IsCancelled(copied)) << copied;
  EXPECT_TRUE(ListDirectory(host_)->empty());
}

TEST_F(CopyTest, IntoASandboxByTheSameRules) {
  ASSERT_TRUE(MakeDirectories(host_ + "/src/inner", 0700).ok());
  ASSERT_TRUE(WriteFileAtomically(host_ + "/src/f", "one", 0640).ok());
  ASSERT_TRUE(WriteFileAtomically(host_ + "/src/inner/g\n", "two", 0755).ok());
  ASSERT_EQ(symlink("f", (host_ + "/src/link").c_str()), 0);
  ASSERT_EQ(mkfifo((host_ + "/src/pipe").c_str(), 0600), 0);

  ASSERT_TRUE(In(host_ + "/src", "/new").ok());
  EXPECT_EQ(sandbox_.contents["/new/f"], "one");
  EXPECT_EQ(sandbox_.entries["/new/f"].mode, 0640U);
  EXPECT_EQ(sandbox_.contents["/new/inner/g\n"], "two");
  EXPECT_EQ(report_.symlinks, 1);
  EXPECT_EQ(report_.skipped_count, 1) << "the FIFO";
  EXPECT_THAT(sandbox_.started[0].argv,
              ElementsAre("ln", "-s", "-f", "-n", "--", "f", "/new/link"));
  EXPECT_THAT(sandbox_.started[1].argv, ElementsAre("chmod", "0700", "--", "/new", "/new/inner"));

  ASSERT_TRUE(In(host_ + "/src/f", "/w").ok());
  EXPECT_EQ(sandbox_.contents["/w/f"], "one");
  ASSERT_TRUE(In(host_ + "/src/f", "/w/renamed").ok());
  EXPECT_EQ(sandbox_.contents["/w/renamed"], "one");
  ASSERT_TRUE(In(host_ + "/src/.", "/w").ok());
  EXPECT_EQ(sandbox_.contents["/w/inner/g\n"], "two");
  EXPECT_TRUE(absl::IsNotFound(In(host_ + "/src/f", "/none/")));
  EXPECT_TRUE(absl::IsFailedPrecondition(In(host_ + "/src", "/w/a")));
  EXPECT_TRUE(absl::IsNotFound(In(host_ + "/nothing", "/w")));
}

TEST_F(CopyTest, WithoutToolsInTheImageLinksAreReportedNotLostSilently) {
  ASSERT_TRUE(MakeDirectories(host_ + "/src", 0755).ok());
  ASSERT_EQ(symlink("f", (host_ + "/src/link").c_str()), 0);
  sandbox_.start_error = absl::NotFoundError("ln");
  ASSERT_TRUE(In(host_ + "/src", "/new").ok());
  ASSERT_EQ(report_.skipped_count, 1);
  EXPECT_EQ(report_.skipped[0].path, "src/link");
}

}  // namespace
}  // namespace cubby::cli
