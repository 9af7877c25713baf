// The payload of a CREDIT frame.
#ifndef CUBBY_WIRE_CREDIT_H_
#define CUBBY_WIRE_CREDIT_H_

#include <stdint.h>

#include "absl/strings/string_view.h"
#include "cubby/wire/frame.h"

namespace cubby::wire {

inline void EncodeCredit(uint32_t bytes, char out[4]) {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<char>(bytes >> (8 * i));
}

// False when the sum would be more than any peer may grant.
inline bool AddCredit(absl::string_view payload, int64_t* credit) {
  uint32_t bytes = 0;
  for (int i = 0; i < 4; ++i) {
    bytes |= static_cast<uint32_t>(static_cast<unsigned char>(payload[i])) << (8 * i);
  }
  *credit += bytes;
  return *credit <= kMaxWindowBytes;
}

}  // namespace cubby::wire

#endif  // CUBBY_WIRE_CREDIT_H_
