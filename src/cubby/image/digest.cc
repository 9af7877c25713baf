#include "cubby/image/digest.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/strip.h"

namespace cubby {
namespace {

constexpr char kPrefix[] = "sha256:";

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  // Fails only without memory.
  if (context_->evp == nullptr || EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) != 1) {
    abort();
  }
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_->evp); }

void Sha256::Update(absl::string_view bytes) {
  if (EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) != 1) abort();
}

std::string Sha256::Finish() {
  unsigned char raw[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_DigestFinal_ex(context_->evp, raw, &size) != 1) abort();
  return kPrefix + absl::BytesToHexString({reinterpret_cast<const char*>(raw), size});
}

std::string Sha256Of(absl::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

bool IsDigest(absl::string_view text) {
  return absl::ConsumePrefix(&text, kPrefix) && text.size() == 64 &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string HexOf(const std::string& digest) { return digest.substr(sizeof(kPrefix) - 1); }

}  // namespace cubby
