#include "cubby/pool/owner_label.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace cubby {

std::string OwnerLabel(const Owner& owner) {
  return absl::StrCat(owner.id, " ", owner.process.pid, " ", owner.process.start_time, " ",
                      owner.process.boot_id);
}

std::optional<Owner> ParseOwnerLabel(const std::string& label) {
  const std::vector<std::string> parts = absl::StrSplit(label, absl::MaxSplits(' ', 3));
  Owner owner;
  if (parts.size() != 4 || !absl::SimpleAtoi(parts[1], &owner.process.pid) ||
      !absl::SimpleAtoi(parts[2], &owner.process.start_time)) {
    return std::nullopt;
  }
  owner.id = parts[0];
  owner.process.boot_id = parts[3];
  return owner;
}

}  // namespace cubby
