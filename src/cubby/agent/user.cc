#include "cubby/agent/user.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace cubby::agent {
namespace {

constexpr size_t kMaxGroups = 256;

bool ParseId(absl::string_view text, uint32_t* id) {
  return absl::SimpleAtoi(text, id) && *id != ~0U;  // -1 means "unchanged" to the kernel
}

std::vector<absl::string_view> Fields(absl::string_view line) { return absl::StrSplit(line, ':'); }

}  // namespace

absl::StatusOr<User> FindUser(absl::string_view spec, absl::string_view passwd,
                              absl::string_view group) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(spec, absl::MaxSplits(':', 1));
  const absl::string_view wanted = parts.first.empty() ? absl::string_view("0") : parts.first;
  User user;
  uint32_t id = 0;
  const bool by_id = ParseId(wanted, &id);
  bool found = false;
  for (absl::string_view line : absl::StrSplit(passwd, '\n')) {
    const std::vector<absl::string_view> fields = Fields(line);
    uint32_t uid = 0, gid = 0;
    if (fields.size() < 6 || !ParseId(fields[2], &uid) || !ParseId(fields[3], &gid)) continue;
    if (by_id ? uid != id : fields[0] != wanted) continue;
    user.name = std::string(fields[0]);
    user.uid = uid;
    user.gid = gid;
    if (!fields[5].empty()) user.home = std::string(fields[5]);
    found = true;
    break;
  }
  if (!found) {
    if (!by_id) {
      return absl::FailedPreconditionError(
          absl::StrCat("user ", wanted, ": not in the sandbox's /etc/passwd; use a number"));
    }
    user.uid = id;
    if (id == 0) user.home = "/root";
  }
  uint32_t gid = 0;
  const bool group_by_id = ParseId(parts.second, &gid);
  bool group_found = parts.second.empty() || group_by_id;
  if (group_by_id) user.gid = gid;
  for (absl::string_view line : absl::StrSplit(group, '\n')) {
    const std::vector<absl::string_view> fields = Fields(line);
    if (fields.size() < 4 || !ParseId(fields[2], &gid)) continue;
    if (!parts.second.empty() && !group_by_id && fields[0] == parts.second) {
      user.gid = gid;
      group_found = true;
    }
    const std::vector<absl::string_view> members = absl::StrSplit(fields[3], ',');
    if (parts.second.empty() && !user.name.empty() && user.groups.size() < kMaxGroups &&
        std::find(members.begin(), members.end(), user.name) != members.end()) {
      user.groups.push_back(gid);
    }
  }
  if (!group_found) {
    return absl::FailedPreconditionError(
        absl::StrCat("group ", parts.second, ": not in the sandbox's /etc/group; use a number"));
  }
  return user;
}

}  // namespace cubby::agent
