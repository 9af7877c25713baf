#include "cubby/base/ids.h"

#include <stdlib.h>
#include <sys/random.h>

#include <algorithm>

#include "absl/strings/escaping.h"

namespace cubby {

std::string RandomHex(size_t bytes) {
  std::string raw(bytes, '\0');
  // Up to 256 bytes getrandom(2) is all or nothing once the pool is ready.
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = getrandom(raw.data() + done, bytes - done, 0);
    if (n < 0) abort();  // no kernel that Cubby runs on lacks getrandom
    done += static_cast<size_t>(n);
  }
  return absl::BytesToHexString(raw);
}

bool IsSandboxId(absl::string_view id) {
  return id.size() == 16 && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace cubby
