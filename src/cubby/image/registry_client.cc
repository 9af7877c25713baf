#include "cubby/image/registry_client.h"

#include <curl/curl.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cubby/base/status_macros.h"
#include "cubby/image/manifest.h"
#include "cubby/status.h"
#include "nlohmann/json.hpp"

namespace cubby {
namespace {

using nlohmann::json;

constexpr int kMaxTries = 5;
constexpr int kMaxRedirects = 5;
constexpr long kConnectSeconds = 20;
constexpr long kStallSeconds = 30;
constexpr size_t kMaxHeaderBytes = 64 << 10;
constexpr size_t kMaxErrorBytes = 16 << 10;
constexpr absl::Duration kMaxPause = absl::Seconds(20);

constexpr char kAcceptManifests[] =
    "Accept: application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json";

struct EasyCloser {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListCloser {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

void InitCurlOnce() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)result;
}

// "https://host:port" of a URL, to tell whether a redirect leaves the server.
std::string OriginOf(absl::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == absl::string_view::npos) return "";
  return std::string(url.substr(0, url.find('/', scheme + 3)));
}

std::string ApiHost(const std::string& registry) {
  return registry == "docker.io" ? "registry-1.docker.io" : registry;
}

void Pause(absl::Duration duration) {
  poll(nullptr, 0, static_cast<int>(absl::ToInt64Milliseconds(std::min(duration, kMaxPause))));
}

}  // namespace

struct RegistryClient::Response {
  long code = 0;
  std::string body;  // of errors and small documents
  std::string media_type;
  std::string challenge;
  std::string location;
  absl::Duration retry_after = absl::ZeroDuration();
  size_t header_bytes = 0;
};

struct RegistryClient::Transfer {
  const char* accept = nullptr;
  int64_t offset = 0;
  size_t max_body_bytes = kMaxManifestBytes;
  // Where the bytes of a successful answer go; the body when there is none.
  const std::function<absl::Status(absl::string_view)>* sink = nullptr;
  absl::Status sink_status;
  // Set by Perform for its callbacks.
  CURL* easy = nullptr;
  Response* response = nullptr;
};

RegistryClient::RegistryClient(Reference reference, Credentials credentials, PlainHttp plain_http)
    : reference_(std::move(reference)),
      credentials_(std::move(credentials)),
      plain_http_(plain_http),
      base_(absl::StrCat(plain_http == PlainHttp::kAllowed ? "http://" : "https://",
                         ApiHost(reference_.registry), "/v2/", reference_.repository)) {
  InitCurlOnce();
}

std::string RegistryClient::authorization() {
  std::lock_guard<std::mutex> lock(mutex_);
  return authorization_;
}

absl::Status RegistryClient::Perform(const std::string& url, Transfer* transfer,
                                     Response* response) {
  *response = Response();
  std::unique_ptr<CURL, EasyCloser> easy(curl_easy_init());
  if (easy == nullptr) return absl::ResourceExhaustedError("no memory for a request");
  transfer->easy = easy.get();
  transfer->response = response;
  curl_slist* raw_headers = nullptr;
  const auto add_header = [&raw_headers](const std::string& line) {
    raw_headers = curl_slist_append(raw_headers, line.c_str());
  };
  if (transfer->accept != nullptr) add_header(transfer->accept);
  if (transfer->offset > 0) add_header(absl::StrCat("Range: bytes=", transfer->offset, "-"));
  // Credentials are for the registry itself, never for where it redirects to.
  if (OriginOf(url) == OriginOf(base_)) {
    if (const std::string value = authorization(); !value.empty()) {
      add_header("Authorization: " + value);
    }
  }
  const std::unique_ptr<curl_slist, ListCloser> headers(raw_headers);
  CURL* const c = easy.get();
  curl_easy_setopt(c, CURLOPT_URL, url.c_str());
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(c, CURLOPT_USERAGENT, "cubby");
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR,
                   plain_http_ == PlainHttp::kAllowed ? "http,https" : "https");
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, transfer);
  curl_easy_setopt(
      c, CURLOPT_HEADERFUNCTION, +[](char* data, size_t size, size_t count, void* user) -> size_t {
        Response* response = static_cast<Transfer*>(user)->response;
        absl::string_view line(data, size * count);
        response->header_bytes += line.size();
        if (response->header_bytes > kMaxHeaderBytes) return 0;
        line = absl::StripAsciiWhitespace(line);
        const size_t colon = line.find(':');
        if (colon == absl::string_view::npos) return size * count;
        const absl::string_view name = line.substr(0, colon);
        const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
        int64_t seconds = 0;
        if (absl::EqualsIgnoreCase(name, "content-type")) {
          response->media_type = std::string(value.substr(0, value.find(';')));
        } else if (absl::EqualsIgnoreCase(name, "www-authenticate")) {
          response->challenge = std::string(value);
        } else if (absl::EqualsIgnoreCase(name, "location")) {
          response->location = std::string(value);
        } else if (absl::EqualsIgnoreCase(name, "retry-after") &&
                   absl::SimpleAtoi(value, &seconds) && seconds >= 0) {
          response->retry_after = absl::Seconds(std::min<int64_t>(seconds, 3600));
        }
        return size * count;
      });
  curl_easy_setopt(c, CURLOPT_WRITEDATA, transfer);
  curl_easy_setopt(
      c, CURLOPT_WRITEFUNCTION, +[](char* data, size_t size, size_t count, void* user) -> size_t {
        auto* transfer = static_cast<Transfer*>(user);
        const absl::string_view bytes(data, size * count);
        long code = 0;
        curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &code);
        if (transfer->sink != nullptr && (code == 200 || code == 206)) {
          transfer->sink_status = (*transfer->sink)(bytes);
          return transfer->sink_status.ok() ? bytes.size() : 0;
        }
        const size_t limit = code == 200 ? transfer->max_body_bytes : kMaxErrorBytes;
        if (transfer->response->body.size() + bytes.size() > limit)
          return code == 200 ? 0 : bytes.size();
        transfer->response->body.append(bytes.data(), bytes.size());
        return bytes.size();
      });
  const CURLcode result = curl_easy_perform(c);
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &response->code);
  if (!transfer->sink_status.ok()) return transfer->sink_status;
  switch (result) {
    case CURLE_OK:
      return absl::OkStatus();
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::FailedPreconditionError(absl::StrCat(
          "registry ", reference_.registry,
          " leads to plain HTTP, which is refused; allow it with --plain-http if you must"));
    case CURLE_WRITE_ERROR:
      return absl::ResourceExhaustedError(absl::StrCat("registry ", reference_.registry,
                                                       ": an answer beyond ",
                                                       transfer->max_body_bytes, " bytes"));
    case CURLE_SSL_CONNECT_ERROR:
      return MakeError(absl::StatusCode::kFailedPrecondition,
                       absl::StrCat("registry ", reference_.registry, " does not speak HTTPS (",
                                    curl_easy_strerror(result),
                                    "); if it is plain HTTP, allow it with --plain-http"));
    default:
      return MakeError(
          absl::StatusCode::kUnavailable,
          absl::StrCat("registry ", reference_.registry, ": ", curl_easy_strerror(result)),
          {.fate = Fate::kRetryable});
  }
}

absl::Status RegistryClient::Authorize(const std::string& header) {
  const Challenge challenge = ParseChallenge(header);
  const std::string basic = absl::StrCat(
      "Basic ", absl::Base64Escape(absl::StrCat(credentials_.user, ":", credentials_.password)));
  if (challenge.scheme == "basic") {
    if (credentials_.user.empty()) {
      return absl::PermissionDeniedError(
          absl::StrCat("registry ", reference_.registry, " wants a login; `docker login ",
                       reference_.registry, "` keeps one where it is found"));
    }
    std::lock_guard<std::mutex> lock(mutex_);
    authorization_ = basic;
    return absl::OkStatus();
  }
  auto realm = challenge.parameters.find("realm");
  if (challenge.scheme != "bearer" || realm == challenge.parameters.end()) {
    return absl::UnimplementedError(
        absl::StrCat("registry ", reference_.registry, " wants an unknown kind of login"));
  }
  // The token server is named by the registry; credentials go there as Docker sends them, but never
  // over plain HTTP unless that was allowed.
  if (plain_http_ == PlainHttp::kRefused && !absl::StartsWith(realm->second, "https://")) {
    return absl::FailedPreconditionError(
        absl::StrCat("registry ", reference_.registry, ": its token server is plain HTTP"));
  }
  std::unique_ptr<CURL, EasyCloser> escaper(curl_easy_init());
  const auto escape = [&escaper](const std::string& text) {
    char* raw = curl_easy_escape(escaper.get(), text.c_str(), static_cast<int>(text.size()));
    std::string escaped = raw != nullptr ? raw : "";
    curl_free(raw);
    return escaped;
  };
  std::string scope = absl::StrCat("repository:", reference_.repository, ":pull");
  if (auto found = challenge.parameters.find("scope"); found != challenge.parameters.end()) {
    scope = found->second;
  }
  std::string url = absl::StrCat(realm->second, absl::StrContains(realm->second, '?') ? "&" : "?",
                                 "scope=", escape(scope));
  if (auto service = challenge.parameters.find("service"); service != challenge.parameters.end()) {
    absl::StrAppend(&url, "&service=", escape(service->second));
  }
  std::unique_ptr<CURL, EasyCloser> easy(curl_easy_init());
  curl_slist* raw_headers = nullptr;
  if (!credentials_.user.empty()) {
    raw_headers = curl_slist_append(raw_headers, ("Authorization: " + basic).c_str());
  } else if (!credentials_.identity_token.empty()) {
    raw_headers = curl_slist_append(
        raw_headers, ("Authorization: Bearer " + credentials_.identity_token).c_str());
  }
  const std::unique_ptr<curl_slist, ListCloser> headers(raw_headers);
  std::string body;
  CURL* const c = easy.get();
  curl_easy_setopt(c, CURLOPT_URL, url.c_str());
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR,
                   plain_http_ == PlainHttp::kAllowed ? "http,https" : "https");
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(c, CURLOPT_TIMEOUT, kStallSeconds);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &body);
  curl_easy_setopt(
      c, CURLOPT_WRITEFUNCTION, +[](char* data, size_t size, size_t count, void* user) -> size_t {
        auto* body = static_cast<std::string*>(user);
        if (body->size() + size * count > kMaxErrorBytes * 4) return 0;
        body->append(data, size * count);
        return size * count;
      });
  const CURLcode result = curl_easy_perform(c);
  long code = 0;
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &code);
  if (result != CURLE_OK) {
    return MakeError(
        absl::StatusCode::kUnavailable,
        absl::StrCat("token server of ", reference_.registry, ": ", curl_easy_strerror(result)),
        {.fate = Fate::kRetryable});
  }
  const json answer = json::parse(body, nullptr, false);
  for (const char* key : {"token", "access_token"}) {
    if (code != 200 || !answer.is_object() || !answer.contains(key) || !answer[key].is_string()) {
      continue;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    authorization_ = "Bearer " + answer[key].get<std::string>();
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat("registry ", reference_.registry,
                                                  ": its token server gives no token (HTTP ", code,
                                                  "); `docker login ", reference_.registry,
                                                  "` keeps a login where it is "
                                                  "found"));
}

absl::Status RegistryClient::Get(const std::string& first_url, Transfer* transfer,
                                 Response* response) {
  std::string url = first_url;
  bool authorized = false;
  for (int redirects = 0; redirects <= kMaxRedirects;) {
    CUBBY_RETURN_IF_ERROR(Perform(url, transfer, response));
    if (response->code == 401 && !authorized && !response->challenge.empty()) {
      authorized = true;
      CUBBY_RETURN_IF_ERROR(Authorize(response->challenge));
      continue;
    }
    if (response->code < 301 || response->code > 308 || response->location.empty() ||
        response->code == 304) {
      return absl::OkStatus();
    }
    ++redirects;
    url = absl::StartsWith(response->location, "/") ? OriginOf(url) + response->location
                                                    : response->location;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("registry ", reference_.registry, ": too many redirects"));
}

absl::Status RegistryClient::Explain(const Response& response, absl::string_view what) const {
  const std::string where = absl::StrCat(what, " of ", reference_.ToString());
  switch (response.code) {
    case 401:
    case 403:
      return absl::PermissionDeniedError(
          absl::StrCat("registry ", reference_.registry, " refuses the ", where,
                       "; log in with `docker login ", reference_.registry, "`"));
    case 404:
      return absl::NotFoundError(absl::StrCat("registry ", reference_.registry, " has no ", where));
    default:
      return MakeError(absl::StatusCode::kUnavailable,
                       absl::StrCat("registry ", reference_.registry, " answers HTTP ",
                                    response.code, " for the ", where),
                       {.fate = Fate::kRetryable});
  }
}

absl::StatusOr<RegistryClient::Document> RegistryClient::FetchManifest(const std::string& name) {
  absl::Status status;
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    Transfer transfer{.accept = kAcceptManifests};
    Response response;
    status = Get(absl::StrCat(base_, "/manifests/", name), &transfer, &response);
    if (status.ok() && response.code == 200) {
      return Document{.media_type = std::move(response.media_type),
                      .bytes = std::move(response.body)};
    }
    if (status.ok()) status = Explain(response, "manifest");
    if (!IsRetryable(status)) return status;
    if (attempt + 1 < kMaxTries) {
      Pause(std::max(response.retry_after, absl::Milliseconds(200) * (1 << attempt)));
    }
  }
  return status;
}

absl::Status RegistryClient::FetchBlob(const std::string& digest, int64_t offset,
                                       const std::function<absl::Status(absl::string_view)>& sink) {
  absl::Status status;
  int64_t skip = 0;
  const std::function<absl::Status(absl::string_view)> counting =
      [&](absl::string_view bytes) -> absl::Status {
    // A server that knows no ranges starts from the beginning: what is there already is skipped.
    const int64_t known = std::min<int64_t>(skip, static_cast<int64_t>(bytes.size()));
    skip -= known;
    bytes.remove_prefix(static_cast<size_t>(known));
    offset += static_cast<int64_t>(bytes.size());
    return bytes.empty() ? absl::OkStatus() : sink(bytes);
  };
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    const int64_t from = offset;
    Response response;
    Transfer transfer{.offset = from};
    bool begun = false;
    const std::function<absl::Status(absl::string_view)> deliver = [&](absl::string_view bytes) {
      if (!std::exchange(begun, true)) {
        long code = 0;
        curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &code);
        skip = code == 206 ? 0 : from;
      }
      return counting(bytes);
    };
    transfer.sink = &deliver;
    status = Get(absl::StrCat(base_, "/blobs/", digest), &transfer, &response);
    if (status.ok() && (response.code == 200 || response.code == 206)) return absl::OkStatus();
    if (status.ok()) status = Explain(response, "layer");
    if (!IsRetryable(status)) return status;
    // What has come counts as progress: only a server that gives nothing is given up.
    if (offset > from) attempt = 0;
    if (attempt + 1 < kMaxTries) {
      Pause(std::max(response.retry_after, absl::Milliseconds(200) * (1 << attempt)));
    }
  }
  return status;
}

}  // namespace cubby
