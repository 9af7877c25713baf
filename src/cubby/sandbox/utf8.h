// UTF-8, checked and mended.
#ifndef CUBBY_SANDBOX_UTF8_H_
#define CUBBY_SANDBOX_UTF8_H_

#include <stddef.h>

#include <string>

#include "absl/strings/string_view.h"

namespace cubby {

// How many bytes at the front of `text` are whole, valid characters (RFC 3629: no overlong forms,
// no surrogates).
size_t ValidUtf8Prefix(absl::string_view text);

// U+FFFD in place of every byte that is not part of a valid character.
std::string MendUtf8(absl::string_view text);

}  // namespace cubby

#endif  // CUBBY_SANDBOX_UTF8_H_
