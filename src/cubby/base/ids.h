// Random identifiers.
#ifndef CUBBY_BASE_IDS_H_
#define CUBBY_BASE_IDS_H_

#include <stddef.h>

#include <string>

#include "absl/strings/string_view.h"

namespace cubby {

// `bytes` bytes of the kernel's randomness, in lower-case hex.
std::string RandomHex(size_t bytes);

// A sandbox id: 16 lower-case hex digits.
bool IsSandboxId(absl::string_view id);

}  // namespace cubby

#endif  // CUBBY_BASE_IDS_H_
