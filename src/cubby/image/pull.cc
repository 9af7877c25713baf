#include "cubby/image/pull.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cubby/base/deadline.h"
#include "cubby/base/status_macros.h"
#include "cubby/image/digest.h"
#include "cubby/image/manifest.h"
#include "cubby/image/registry_client.h"
#include "cubby/status.h"

namespace cubby {
namespace {

constexpr size_t kParallelBlobs = 3;
constexpr absl::Duration kProgressInterval = absl::Milliseconds(100);
constexpr int kMaxIndexDepth = 3;

class Progress {
 public:
  explicit Progress(const PullOptions& options) : report_(options.progress) {}

  void AddTotal(int64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    now_.total_bytes += bytes;
  }
  void AddDone(int64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    now_.done_bytes += bytes;
    const absl::Duration time = MonotonicNow();
    if (!report_ || time - last_ < kProgressInterval) return;
    last_ = time;
    report_(now_);
  }
  void Finish() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (report_) report_(now_);
  }

 private:
  const std::function<void(const PullProgress&)> report_;
  std::mutex mutex_;
  PullProgress now_{.step = "fetching"};
  absl::Duration last_ = -absl::InfiniteDuration();
};

// Whoever holds the lock fetches; the others find the blob when they get it.
absl::Status FetchOnce(const BlobStore& blobs, RegistryClient* client, const Descriptor& blob,
                       Progress* progress) {
  CUBBY_ASSIGN_OR_RETURN(const FileLock lock, blobs.Lock(blob.digest));
  if (blobs.Has(blob.digest)) {
    progress->AddDone(blob.size);
    return absl::OkStatus();
  }
  const std::string partial = blobs.PartialPath(blob.digest);
  unique_fd fd(open(partial.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!fd.valid()) return ErrnoError(errno, "create", partial);
  struct stat st {};
  if (fstat(fd.get(), &st) != 0) return ErrnoError(errno, "stat", partial);
  int64_t done = st.st_size;
  if (done > blob.size) {
    // More than the blob has: left by something that was not this blob.
    if (ftruncate(fd.get(), 0) != 0) return ErrnoError(errno, "truncate", partial);
    done = 0;
  }
  progress->AddDone(done);
  if (done < blob.size) {
    CUBBY_RETURN_IF_ERROR(
        client->FetchBlob(blob.digest, done, [&](absl::string_view bytes) -> absl::Status {
          done += static_cast<int64_t>(bytes.size());
          if (done > blob.size) {
            return absl::DataLossError(absl::StrCat("blob ", blob.digest,
                                                    ": the registry sends more than the ",
                                                    blob.size, " bytes that the image names"));
          }
          if (absl::Status status = WriteAll(fd.get(), bytes); !status.ok()) {
            return Annotate(status, absl::StrCat("keep blob ", blob.digest));
          }
          progress->AddDone(static_cast<int64_t>(bytes.size()));
          return absl::OkStatus();
        }));
  }
  if (done != blob.size) {
    return absl::DataLossError(absl::StrCat("blob ", blob.digest, ": the registry sends ", done,
                                            " bytes, the image names ", blob.size));
  }
  return blobs.CommitPartial(blob.digest);
}

// The manifest of one platform's image: its digest, its bytes, and what it says.
struct Resolved {
  std::string digest;
  std::string bytes;
  Manifest manifest;
};

absl::StatusOr<Resolved> Resolve(RegistryClient* client, const Reference& reference,
                                 const std::string& architecture) {
  std::string name = reference.digest.empty() ? reference.tag : reference.digest;
  for (int depth = 0; depth < kMaxIndexDepth; ++depth) {
    CUBBY_ASSIGN_OR_RETURN(RegistryClient::Document document, client->FetchManifest(name));
    const std::string digest = Sha256Of(document.bytes);
    if (IsDigest(name) && digest != name) {
      return absl::DataLossError(absl::StrCat("manifest ", name, " of ", reference.ToString(),
                                              ": its bytes have the digest ", digest));
    }
    CUBBY_ASSIGN_OR_RETURN(auto parsed, ParseManifest(document.media_type, document.bytes));
    if (auto* manifest = std::get_if<Manifest>(&parsed)) {
      return Resolved{
          .digest = digest, .bytes = std::move(document.bytes), .manifest = std::move(*manifest)};
    }
    absl::StatusOr<Descriptor> chosen =
        ChoosePlatform(std::get<std::vector<Descriptor>>(parsed), architecture);
    if (!chosen.ok()) return Annotate(chosen.status(), reference.ToString());
    name = chosen->digest;
  }
  return absl::InvalidArgumentError(absl::StrCat(reference.ToString(), ": indexes within indexes"));
}

absl::Status FetchAll(const BlobStore& blobs, RegistryClient* client,
                      const std::vector<Descriptor>& wanted, Progress* progress) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  absl::Status first_error;
  const auto work = [&] {
    for (size_t i = next++; i < wanted.size(); i = next++) {
      const absl::Status status = FetchOnce(blobs, client, wanted[i], progress);
      if (status.ok()) continue;
      std::lock_guard<std::mutex> lock(mutex);
      if (first_error.ok()) first_error = status;
      next = wanted.size();  // the others finish what they are at
    }
  };
  std::vector<std::thread> threads;
  const size_t count = std::min(kParallelBlobs, wanted.size());
  for (size_t i = 1; i < count; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return first_error;
}

}  // namespace

absl::StatusOr<std::string> PullImage(const BlobStore& blobs, const Reference& reference,
                                      const PullOptions& options) {
  CUBBY_ASSIGN_OR_RETURN(Credentials credentials, FindCredentials(reference.registry));
  RegistryClient client(reference, std::move(credentials),
                        options.allow_plain_http ? PlainHttp::kAllowed : PlainHttp::kRefused);
  const std::string architecture =
      options.architecture.empty() ? HostArchitecture() : options.architecture;
  CUBBY_ASSIGN_OR_RETURN(const Resolved image, Resolve(&client, reference, architecture));

  Progress progress(options);
  const Manifest& manifest = image.manifest;
  if (manifest.config.size > static_cast<int64_t>(kMaxManifestBytes)) {
    return absl::InvalidArgumentError("the image's configuration is larger than 4 MiB");
  }
  CUBBY_RETURN_IF_ERROR(FetchOnce(blobs, &client, manifest.config, &progress));
  CUBBY_ASSIGN_OR_RETURN(const std::string config_bytes,
                         blobs.Read(manifest.config.digest, kMaxManifestBytes));
  CUBBY_ASSIGN_OR_RETURN(const ParsedConfig config, ParseConfig(config_bytes));
  // Before gigabytes of layers come that could not run.
  if (config.config.architecture != architecture) {
    return absl::FailedPreconditionError(
        absl::StrCat(reference.ToString(), " is made for ", config.config.os, "/",
                     config.config.architecture, ", and linux/", architecture, " is needed"));
  }
  // The same layer may stand in an image twice.
  std::vector<Descriptor> wanted;
  for (const Descriptor& layer : manifest.layers) {
    const bool seen = std::any_of(wanted.begin(), wanted.end(), [&](const Descriptor& other) {
      return other.digest == layer.digest;
    });
    if (seen) continue;
    progress.AddTotal(layer.size);
    wanted.push_back(layer);
  }
  CUBBY_RETURN_IF_ERROR(FetchAll(blobs, &client, wanted, &progress));
  progress.Finish();
  CUBBY_RETURN_IF_ERROR(blobs.Put(image.digest, image.bytes));
  return image.digest;
}

}  // namespace cubby
