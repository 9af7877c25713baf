// absl::Status as a message, and back.
#ifndef CUBBY_WIRE_STATUS_CODEC_H_
#define CUBBY_WIRE_STATUS_CODEC_H_

#include "absl/status/status.h"
#include "cubby/wire/agent.pb.h"

namespace cubby::wire {

Status EncodeStatus(const absl::Status& status);

// Unknown codes become UNKNOWN, an overlong message is cut: the peer may be hostile. A guest cannot
// declare its own machine terminal: fate is the host's verdict and is not taken from the message.
absl::Status DecodeStatus(const Status& status);

}  // namespace cubby::wire

#endif  // CUBBY_WIRE_STATUS_CODEC_H_
