// Images from a real registry on this machine.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cubby/base/file.h"
#include "harness.h"

namespace cubby::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

enum class Access { kAnonymous, kPassword };

// Debian's docker-registry on a free port of the loopback, and a state directory to pull into.
class Registry {
 public:
  explicit Registry(Access access)
      : folder_(*TemporaryDirectory::Create("/tmp", "cubby-e2e-")), port_(FreePort()) {
    std::string config = absl::StrCat(
        "version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: ", folder_.path(),
        "/data}}\nhttp: {addr: '127.0.0.1:", port_, "'}\n");
    if (access == Access::kPassword) {
      absl::StrAppend(&config, "auth: {htpasswd: {realm: r, path: ", folder_.path(), "/users}}\n");
      EXPECT_EQ(Shell(absl::StrCat("htpasswd -Bbn user secret > ", folder_.path(), "/users")).code,
                0);
    }
    EXPECT_TRUE(WriteFileAtomically(folder_.path() + "/config.yml", config).ok());
    auto process =
        Subprocess::Spawn({.argv = {"docker-registry", "serve", folder_.path() + "/config.yml"},
                           .environment = {"PATH=/usr/bin:/bin", "OTEL_TRACES_EXPORTER=none"}});
    EXPECT_TRUE(process.ok()) << process.status();
    process_.emplace(*std::move(process));
    EXPECT_TRUE(Eventually([this] { return Connects(); }));
    const std::string archive = folder_.path() + "/archive";
    EXPECT_EQ(Cubby({"image", "export", kBusybox, archive}).code, 0);
    const Outcome pushed =
        Shell(absl::StrCat("skopeo copy --quiet --insecure-policy --dest-tls-verify=false ",
                           access == Access::kPassword ? "--dest-creds user:secret " : "",
                           "oci-archive:", archive, " docker://", image()));
    EXPECT_EQ(pushed.code, 0) << pushed.err;
  }
  ~Registry() {
    process_->Kill(SIGTERM);
    EXPECT_TRUE(process_->Wait(Deadline::After(absl::Seconds(20))).ok());
  }

  [[nodiscard]] std::string image() const { return absl::StrCat("127.0.0.1:", port_, "/x/busy:1"); }
  [[nodiscard]] Options options() const { return {.state_dir = folder_.path() + "/state"}; }

 private:
  static sockaddr_in Address(int port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static int FreePort() {
    const unique_fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = Address(0);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    return ntohs(address.sin_port);
  }
  [[nodiscard]] bool Connects() const {
    const unique_fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = Address(port_);
    return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }

  TemporaryDirectory folder_;
  int port_;
  std::optional<Subprocess> process_;
};

TEST(Pull, RunFetchesWhatIsMissingAndSaysHowFarItIs) {
  const Registry registry(Access::kAnonymous);
  const std::vector<std::string> run = {"run", "--plain-http", registry.image(),
                                        "--",  "echo",         "hi"};
  Outcome outcome = Cubby(run, registry.options());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "hi\n");
  EXPECT_THAT(outcome.err, HasSubstr("fetching"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("\033"))) << "plain lines in a pipe";
  outcome = Cubby(run, registry.options());
  EXPECT_EQ(outcome.out, "hi\n");
  EXPECT_EQ(outcome.err, "") << "nothing is fetched twice";
  outcome =
      Cubby({"image", "pull", "--json", "--plain-http", registry.image()}, registry.options());
  EXPECT_EQ(outcome.Json()["reference"], registry.image());
}

TEST(Pull, ATerminalGetsABar) {
  const Registry registry(Access::kAnonymous);
  const Outcome outcome = Shell(absl::StrCat("script -qec '$CUBBY image pull --plain-http ",
                                             registry.image(), "' /dev/null </dev/null"),
                                registry.options());
  EXPECT_THAT(outcome.out, HasSubstr("\r"));
  EXPECT_THAT(outcome.out, HasSubstr("["));
  EXPECT_THAT(outcome.out, HasSubstr(registry.image() + " sha256:"));
}

TEST(Pull, WhatIsNotThereIsNotFound) {
  const Registry registry(Access::kAnonymous);
  for (const std::string missing : {"other", "x/busy:2"}) {
    const std::string image =
        absl::StrCat(registry.image().substr(0, registry.image().find('/')), "/", missing);
    const Outcome outcome =
        Cubby({"run", "--json", "--plain-http", image, "--", "true"}, registry.options());
    EXPECT_EQ(outcome.code, 125);
    EXPECT_EQ(outcome.Json()["error"]["code"], "NOT_FOUND") << outcome.out;
    EXPECT_THAT(std::string(outcome.Json()["error"]["message"]), HasSubstr(image));
  }
}

TEST(Pull, ARegistryThatRefusesIsOneClearError) {
  const Registry registry(Access::kPassword);
  const Outcome outcome =
      Cubby({"image", "pull", "--plain-http", registry.image()}, registry.options());
  EXPECT_EQ(outcome.code, 125);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(registry.image()));
  EXPECT_THAT(outcome.err, HasSubstr("login"));
}

}  // namespace
}  // namespace cubby::e2e
