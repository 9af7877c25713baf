// One repository of an image registry (OCI distribution specification 1.0), over libcurl.
#ifndef CUBBY_IMAGE_REGISTRY_CLIENT_H_
#define CUBBY_IMAGE_REGISTRY_CLIENT_H_

#include <stdint.h>

#include <functional>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cubby/image/reference.h"
#include "cubby/image/registry_auth.h"

namespace cubby {

enum class PlainHttp { kRefused, kAllowed };

// Thread-safe. Speaks HTTPS, or plain HTTP when that is allowed. Answers of the server are bounded;
// a transfer ends when nothing has come for 30 s, and not for its length. 429, 5xx and broken
// connections are tried again, at most five times, with growing pauses.
class RegistryClient {
 public:
  RegistryClient(Reference reference, Credentials credentials, PlainHttp plain_http);

  struct Document {
    std::string media_type;
    std::string bytes;
  };
  // `name` is a tag or a digest. Whether the bytes have that digest is the caller's to check.
  absl::StatusOr<Document> FetchManifest(const std::string& name);

  // Appends the blob's bytes from `offset` on to `sink`. An error of the sink ends the transfer.
  absl::Status FetchBlob(const std::string& digest, int64_t offset,
                         const std::function<absl::Status(absl::string_view)>& sink);

 private:
  struct Response;
  struct Transfer;
  absl::Status Perform(const std::string& url, Transfer* transfer, Response* response);
  // One request with the authorisation it needs, following redirects.
  absl::Status Get(const std::string& url, Transfer* transfer, Response* response);
  absl::Status Authorize(const std::string& challenge);
  std::string authorization();
  absl::Status Explain(const Response& response, absl::string_view what) const;

  const Reference reference_;
  const Credentials credentials_;
  const PlainHttp plain_http_;
  const std::string base_;
  std::mutex mutex_;
  std::string authorization_;  // the header's value, empty until the server asks
};

}  // namespace cubby

#endif  // CUBBY_IMAGE_REGISTRY_CLIENT_H_
