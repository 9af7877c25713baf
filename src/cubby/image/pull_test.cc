// Pulling from a registry that misbehaves (testing/registry_stub.py). A real registry is pulled
// from in tests/e2e.
#include "cubby/image/pull.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>
#include <optional>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/base/subprocess.h"
#include "cubby/image/digest.h"
#include "cubby/image/manifest.h"
#include "cubby/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace cubby {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class PullTest : public testing::Test {
 protected:
  PullTest() : folder_(*TemporaryDirectory::Create("/tmp", "cubby-pull-")), blobs_(Path("images")) {
    EXPECT_TRUE(blobs_.Prepare().ok());
    EXPECT_TRUE(MakeDirectories(Path("layout/blobs/sha256")).ok());
    EXPECT_TRUE(MakeDirectories(Path("docker")).ok());
    setenv("DOCKER_CONFIG", Path("docker").c_str(), 1);
    json layers = json::array();
    for (size_t size : {size_t{1} << 20, size_t{300000}, size_t{50000}, size_t{10}}) {
      std::string bytes(size, '\0');
      for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + size);
      layers.push_back(PutBlob(bytes, kOciLayerType));
    }
    MakeImage(layers, HostArchitecture());
  }
  ~PullTest() override { unsetenv("DOCKER_CONFIG"); }

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  json PutBlob(const std::string& bytes, const char* type) {
    const std::string digest = Sha256Of(bytes);
    EXPECT_TRUE(WriteFileAtomically(Path("layout/blobs/sha256/" + HexOf(digest)), bytes).ok());
    return {{"mediaType", type}, {"digest", digest}, {"size", bytes.size()}};
  }
  void MakeImage(const json& layers, const std::string& architecture) {
    const json config = {{"architecture", architecture}, {"os", "linux"}};
    const json manifest = {{"schemaVersion", 2},
                           {"mediaType", kOciManifestType},
                           {"config", PutBlob(config.dump(), kOciConfigType)},
                           {"layers", layers}};
    json entry = PutBlob(manifest.dump(), kOciManifestType);
    manifest_ = entry["digest"].get<std::string>();
    entry["platform"] = {{"architecture", HostArchitecture()}, {"os", "linux"}};
    const json index = {{"schemaVersion", 2}, {"mediaType", kOciIndexType}, {"manifests", {entry}}};
    const json top = PutBlob(index.dump(), kOciIndexType);
    EXPECT_TRUE(
        WriteFileAtomically(Path("layout/index.json"), json{{"manifests", {top}}}.dump()).ok());
  }

  void StartRegistry(const std::vector<std::string>& options) {
    log_path_ = Path("registry.log");
    unique_fd log(open(log_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    SpawnOptions spawn{.argv = {"python3", CUBBY_REGISTRY_STUB, Path("layout")},
                       .environment = {"PATH=/usr/bin:/bin"},
                       .descriptors = {{log.get(), 1}, {2, 2}}};
    spawn.argv.insert(spawn.argv.end(), options.begin(), options.end());
    registry_.reset();
    registry_.emplace(*Subprocess::Spawn(spawn));
    const Deadline deadline = Deadline::After(absl::Seconds(20));
    while (Log().empty() && !deadline.Expired()) poll(nullptr, 0, 5);
    ASSERT_FALSE(Log().empty()) << "the registry has not started";
    port_ = Log()[0];
  }
  std::vector<std::string> Log() const {
    const std::string text = ReadSmallFile(log_path_).value_or("");
    return absl::StrSplit(text, '\n', absl::SkipEmpty());
  }
  // Waits until the registry has written down that many bytes (it does so after the client has
  // them), and returns what it has written.
  int64_t BytesSentOnceAt(int64_t bytes) const {
    const Deadline deadline = Deadline::After(absl::Seconds(10));
    while (BytesSent() < bytes && !deadline.Expired()) poll(nullptr, 0, 5);
    return BytesSent();
  }
  // Bytes that the registry has sent of blobs.
  int64_t BytesSent() const {
    int64_t sum = 0;
    for (const std::string& line : Log()) {
      const std::vector<std::string> fields = absl::StrSplit(line, ' ');
      int64_t bytes = 0;
      if (fields.size() == 4 && absl::SimpleAtoi(fields[3], &bytes)) sum += bytes;
    }
    return sum;
  }
  int64_t ImageBytes() const {
    const json manifest =
        json::parse(*ReadSmallFile(Path("layout/blobs/sha256/" + HexOf(manifest_))));
    int64_t sum = manifest["config"]["size"].get<int64_t>();
    for (const json& layer : manifest["layers"]) sum += layer["size"].get<int64_t>();
    return sum;
  }
  absl::StatusOr<std::string> Pull(const std::string& tag = "index",
                                   PullOptions options = {.allow_plain_http = true}) {
    return PullImage(
        blobs_,
        *ParseReference(absl::StrCat("127.0.0.1:", port_, "/x", IsDigest(tag) ? "@" : ":", tag)),
        options);
  }

  TemporaryDirectory folder_;
  BlobStore blobs_;
  std::string manifest_;
  std::string log_path_;
  std::optional<Subprocess> registry_;
  std::string port_;
};

TEST_F(PullTest, EveryBlobComesOnceAndProgressEndsAtTheTotal) {
  StartRegistry({});
  PullProgress last;
  absl::StatusOr<std::string> digest = Pull(
      "index", {.allow_plain_http = true, .progress = [&](const PullProgress& p) { last = p; }});
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_EQ(*digest, manifest_);
  EXPECT_EQ(BytesSentOnceAt(ImageBytes()), ImageBytes());
  EXPECT_GE(last.done_bytes, last.total_bytes);
  ASSERT_TRUE(Pull(manifest_).ok()) << "by digest";
  EXPECT_EQ(BytesSentOnceAt(ImageBytes()), ImageBytes()) << "nothing is fetched a second time";
}

TEST_F(PullTest, PlainHttpIsRefusedUnlessAllowed) {
  StartRegistry({});
  const absl::Status status = Pull("index", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("--plain-http"));
}

TEST_F(PullTest, TokenAndBasicLoginsAreTakenFromDockersConfiguration) {
  for (const char* scheme : {"token", "basic"}) {
    StartRegistry({scheme});
    ASSERT_TRUE(RemoveTree(Path("docker/config.json")).ok());
    const absl::Status anonymous = Pull().status();
    EXPECT_EQ(anonymous.code(), absl::StatusCode::kPermissionDenied) << anonymous;
    EXPECT_THAT(std::string(anonymous.message()), HasSubstr("docker login"));
    // base64 of me:secret, as `docker login` writes it.
    const json config = {
        {"auths", {{absl::StrCat("127.0.0.1:", port_), {{"auth", "bWU6c2VjcmV0"}}}}}};
    ASSERT_TRUE(WriteFileAtomically(Path("docker/config.json"), config.dump()).ok());
    EXPECT_TRUE(Pull().ok()) << scheme;
  }
}

TEST_F(PullTest, CredentialHelpersAreAsked) {
  StartRegistry({"basic"});
  ASSERT_TRUE(MakeDirectories(Path("bin")).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("bin/docker-credential-test"),
                                  "#!/bin/sh\nread host\necho \"$host\" > " + Path("asked") +
                                      "\necho '{\"Username\":\"me\",\"Secret\":\"secret\"}'\n",
                                  0755)
                  .ok());
  const json config = {{"credHelpers", {{absl::StrCat("127.0.0.1:", port_), "test"}}}};
  ASSERT_TRUE(WriteFileAtomically(Path("docker/config.json"), config.dump()).ok());
  const std::string path = getenv("PATH");
  setenv("PATH", absl::StrCat(Path("bin"), ":", path).c_str(), 1);
  const absl::Status status = Pull().status();
  setenv("PATH", path.c_str(), 1);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(*ReadSmallFile(Path("asked")), HasSubstr("127.0.0.1"));
}

TEST_F(PullTest, CredentialsDoNotFollowARedirect) {
  StartRegistry({"basic", "redirect"});
  const json config = {
      {"auths", {{absl::StrCat("127.0.0.1:", port_), {{"auth", "bWU6c2VjcmV0"}}}}}};
  ASSERT_TRUE(WriteFileAtomically(Path("docker/config.json"), config.dump()).ok());
  EXPECT_TRUE(Pull().ok()) << "the second server refuses requests that carry credentials";
}

TEST_F(PullTest, BrokenAndBusyAnswersAreTriedAgainFromTheByteReached) {
  StartRegistry({"drop=4", "busy=3"});
  absl::StatusOr<std::string> digest = Pull();
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_EQ(BytesSentOnceAt(ImageBytes()), ImageBytes()) << "no byte twice";
}

TEST_F(PullTest, RegistryWithoutRangesStillWorks) {
  StartRegistry({"drop=2", "noranges"});
  EXPECT_TRUE(Pull().ok());
}

TEST_F(PullTest, WrongBytesAreDataLossAndAreNotKept) {
  StartRegistry({"wrong"});
  EXPECT_EQ(Pull().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(ListDirectory(Path("images/partial"))->empty());
}

TEST_F(PullTest, ForeignArchitectureIsRefusedByNameBeforeItsLayersCome) {
  MakeImage(json::array({PutBlob(std::string(100000, 'x'), kOciLayerType)}), "s390x");
  StartRegistry({});
  const absl::Status status = Pull(manifest_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("s390x"));
  EXPECT_LT(BytesSent(), 1000);
}

TEST_F(PullTest, MissingImageAndMissingServerAreToldApart) {
  StartRegistry({});
  EXPECT_EQ(Pull("sha256:" + std::string(64, '0')).status().code(), absl::StatusCode::kNotFound);
  registry_.reset();
  EXPECT_TRUE(IsRetryable(Pull().status()));
}

TEST_F(PullTest, PullKilledInTheMiddleResumes) {
  StartRegistry({"slow"});
  const pid_t child = fork();
  if (child == 0) {
    Pull().status().IgnoreError();
    _exit(0);
  }
  const std::string big = Path("images/partial");
  const auto gathered = [&] {
    int64_t sum = 0;
    const std::vector<std::string> names = *ListDirectory(big);
    for (const std::string& name : names) {
      struct stat st {};
      if (stat((big + "/" + name).c_str(), &st) == 0) sum += st.st_size;
    }
    return sum;
  };
  const Deadline deadline = Deadline::After(absl::Seconds(20));
  while (gathered() < 200000 && !deadline.Expired()) poll(nullptr, 0, 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const int64_t had = gathered();
  ASSERT_GE(had, 200000);
  StartRegistry({});
  ASSERT_TRUE(Pull().ok());
  EXPECT_LE(BytesSent(), ImageBytes() - had) << "what was there is not fetched again";
}

TEST_F(PullTest, TwoPullsShareTheWork) {
  StartRegistry({"slow"});
  const pid_t child = fork();
  if (child == 0) _exit(Pull().ok() ? 0 : 1);
  std::thread other([this] { EXPECT_TRUE(Pull().ok()); });
  EXPECT_TRUE(Pull().ok());
  other.join();
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(BytesSentOnceAt(ImageBytes()), ImageBytes());
}

}  // namespace
}  // namespace cubby
