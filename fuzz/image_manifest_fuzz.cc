// What a registry says: manifests, configurations, references, challenges. Any bytes give a value
// or a status, and what is accepted can be said again.
#include <stddef.h>
#include <stdint.h>

#include "cubby/image/manifest.h"
#include "cubby/image/reference.h"
#include "cubby/image/registry_auth.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cubby;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const char* type : {kOciManifestType, kOciIndexType, kDockerManifestType, ""}) {
    const auto parsed = ParseManifest(type, bytes);
    if (!parsed.ok()) continue;
    if (const auto* entries = std::get_if<std::vector<Descriptor>>(&*parsed)) {
      (void)ChoosePlatform(*entries, "amd64");
    }
  }
  (void)ParseConfig(bytes);
  (void)ParseChallenge(bytes);
  if (const absl::StatusOr<Reference> reference = ParseReference(bytes); reference.ok()) {
    const absl::StatusOr<Reference> again = ParseReference(reference->ToString());
    if (!again.ok() || again->ToString() != reference->ToString()) __builtin_trap();
  }
  return 0;
}
