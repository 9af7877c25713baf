// Who made a machine, on the machine itself: for when the registry has been lost.
#ifndef CUBBY_POOL_OWNER_LABEL_H_
#define CUBBY_POOL_OWNER_LABEL_H_

#include <optional>
#include <string>

#include "cubby/pool/owner.h"

namespace cubby {

inline constexpr char kOwnerLabel[] = "cubby.owner";

std::string OwnerLabel(const Owner& owner);
std::optional<Owner> ParseOwnerLabel(const std::string& label);

}  // namespace cubby

#endif  // CUBBY_POOL_OWNER_LABEL_H_
