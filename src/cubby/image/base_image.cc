#include <stdlib.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cubby/base/status_macros.h"
#include "cubby/base/subprocess.h"
#include "cubby/image/archive_file.h"
#include "cubby/image/digest.h"
#include "cubby/image/image_writer.h"
#include "cubby/status.h"
#include "nlohmann/json.hpp"

namespace cubby {
namespace {

using nlohmann::json;

// Package servers may be slow; a build that says nothing for so long is stuck.
constexpr absl::Duration kBuildDeadline = absl::Minutes(15);
constexpr size_t kErrorTailBytes = 600;

}  // namespace

absl::StatusOr<std::string> BuildBaseImage(const BlobStore& blobs, const std::string& work_folder,
                                           const BaseImageOptions& options) {
  if (geteuid() != 0) {
    return absl::FailedPreconditionError("building an image needs root (mmdebstrap): run as root");
  }
  const auto say = [&options](const std::string& line) {
    if (options.progress) options.progress(line);
  };
  const std::string tar = work_folder + "/rootfs.tar";
  const std::string layer = work_folder + "/layer.tar.gz";
  SpawnOptions command{
      .argv = {"mmdebstrap", "--variant=minbase", "--mode=root", "--quiet",
               "--include=" + absl::StrJoin(options.packages, ","),
               // What a sandbox never needs makes half of the image.
               "--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/doc/*",
               "--dpkgopt=path-exclude=/usr/share/locale/*",
               "--dpkgopt=path-exclude=/usr/share/info/*",
               "--customize-hook=rm -rf \"$1\"/var/lib/apt/lists/* \"$1\"/var/cache/apt/*.bin",
               "--customize-hook=chroot \"$1\" useradd --create-home --shell /bin/bash agent",
               options.suite, tar},
      .environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                      "DEBIAN_FRONTEND=noninteractive", "SOURCE_DATE_EPOCH=1700000000"}};
  // How this host reaches its package servers.
  for (const char* name : {"http_proxy", "https_proxy", "no_proxy"}) {
    if (const char* value = getenv(name); value != nullptr) {
      command.environment.push_back(absl::StrCat(name, "=", value));
    }
  }
  say(absl::StrCat("installing Debian ", options.suite, " with ",
                   absl::StrJoin(options.packages, ", ")));
  absl::StatusOr<CommandOutput> built = RunCommand(command, Deadline::After(kBuildDeadline));
  if (absl::IsNotFound(built.status())) {
    return absl::FailedPreconditionError("mmdebstrap is missing: apt-get install mmdebstrap");
  }
  CUBBY_RETURN_IF_ERROR(built.status());
  if (!built->status.success()) {
    std::string tail = built->err.size() > kErrorTailBytes
                           ? built->err.substr(built->err.size() - kErrorTailBytes)
                           : built->err;
    absl::StripAsciiWhitespace(&tail);
    return absl::FailedPreconditionError(
        absl::StrCat("mmdebstrap failed (", built->status.ToString(), "): ", tail));
  }
  say("compressing");
  CUBBY_ASSIGN_OR_RETURN(const std::string diff_id, Sha256OfFile(tar));
  CUBBY_RETURN_IF_ERROR(GzipFile(tar, layer));
  CUBBY_ASSIGN_OR_RETURN(Descriptor layer_blob, PutFile(blobs, layer));
  layer_blob.media_type = kOciLayerGzipType;

  const std::string config_bytes = json{
      {"architecture", HostArchitecture()},
      {"os", "linux"},
      {"created", "2023-11-14T22:13:20Z"},
      {"config",
       {{"Env",
         {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}},
        {"Cmd", {"bash"}}}},
      {"rootfs",
       {{"type", "layers"},
        {"diff_ids", {diff_id}}}}}.dump();
  const Descriptor config{.media_type = kOciConfigType,
                          .digest = Sha256Of(config_bytes),
                          .size = static_cast<int64_t>(config_bytes.size())};
  CUBBY_RETURN_IF_ERROR(blobs.Put(config.digest, config_bytes));
  return PutManifest(blobs, config, {layer_blob});
}

}  // namespace cubby
