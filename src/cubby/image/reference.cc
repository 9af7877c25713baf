#include "cubby/image/reference.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/image/digest.h"

namespace cubby {
namespace {

constexpr size_t kMaxBytes = 512;

absl::Status Bad(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("image name \"", absl::CHexEscape(text.substr(0, kMaxBytes)), "\": ", why));
}

bool IsPathPart(absl::string_view part) {
  const auto is_word = [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c));
  };
  return !part.empty() && is_word(part.front()) && is_word(part.back()) &&
         std::all_of(part.begin(), part.end(),
                     [&](char c) { return is_word(c) || c == '.' || c == '_' || c == '-'; });
}

bool IsTag(absl::string_view tag) {
  return !tag.empty() && tag.size() <= 128 && tag[0] != '.' && tag[0] != '-' &&
         std::all_of(tag.begin(), tag.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
                  c == '-';
         });
}

bool IsRegistry(absl::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == ':' ||
           c == '[' || c == ']';
  });
}

}  // namespace

std::string Reference::ToString() const {
  return absl::StrCat(registry, "/", repository, tag.empty() ? "" : ":", tag,
                      digest.empty() ? "" : "@", digest);
}

absl::StatusOr<Reference> ParseReference(absl::string_view text) {
  if (text.empty()) return Bad(text, "it is empty");
  if (text.size() > kMaxBytes) return Bad(text, "it is too long");
  Reference reference;
  absl::string_view rest = text;
  if (const size_t at = rest.find('@'); at != absl::string_view::npos) {
    reference.digest = std::string(rest.substr(at + 1));
    if (!IsDigest(reference.digest)) {
      return Bad(text, "after @ comes sha256: and 64 lower-case hex digits");
    }
    rest = rest.substr(0, at);
  }
  const size_t first_slash = rest.find('/');
  const absl::string_view first = rest.substr(0, first_slash);
  if (first_slash != absl::string_view::npos &&
      (absl::StrContains(first, '.') || absl::StrContains(first, ':') || first == "localhost")) {
    reference.registry = std::string(first);
    if (!IsRegistry(first)) return Bad(text, "the registry is not a host name");
    rest = rest.substr(first_slash + 1);
  } else {
    reference.registry = "docker.io";
  }
  if (const size_t colon = rest.rfind(':'); colon != absl::string_view::npos) {
    reference.tag = std::string(rest.substr(colon + 1));
    if (!IsTag(reference.tag)) return Bad(text, "the tag has characters that are not allowed");
    rest = rest.substr(0, colon);
  } else if (reference.digest.empty()) {
    reference.tag = "latest";
  }
  for (absl::string_view part : absl::StrSplit(rest, '/')) {
    if (!IsPathPart(part)) {
      return Bad(text, "use lower-case letters, digits and . _ - between slashes");
    }
  }
  reference.repository = std::string(rest);
  if (reference.registry == "docker.io" && !absl::StrContains(rest, '/')) {
    reference.repository = absl::StrCat("library/", rest);
  }
  return reference;
}

}  // namespace cubby
