#include "cubby/pool/identity.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cubby/image/digest.h"

namespace cubby {
namespace {

constexpr size_t kIdDigits = 16;

std::string Escape(const std::string& part) {
  return absl::StrReplaceAll(part, {{"%", "%25"}, {":", "%3A"}});
}

}  // namespace

absl::Status CheckIdentity(const Identity& identity) {
  if (identity.thread.empty()) {
    return absl::InvalidArgumentError(
        "an identity needs a thread; acquire an anonymous sandbox when there is none");
  }
  return absl::OkStatus();
}

std::string SandboxIdOf(const Identity& identity) {
  return HexOf(Sha256Of(absl::StrCat(Escape(identity.user), ":", Escape(identity.thread))))
      .substr(0, kIdDigits);
}

std::string Describe(const Identity& identity) {
  return absl::StrCat("user \"", absl::CHexEscape(identity.user), "\" thread \"",
                      absl::CHexEscape(identity.thread), "\"");
}

}  // namespace cubby
