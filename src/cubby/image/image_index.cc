#include "cubby/image/image_index.h"

#include "absl/strings/str_cat.h"
#include "cubby/base/file.h"
#include "cubby/base/status_macros.h"
#include "cubby/image/digest.h"
#include "cubby/status.h"
#include "nlohmann/json.hpp"

namespace cubby {
namespace {

using nlohmann::json;

absl::Status NotThere(const std::string& reference) {
  return absl::NotFoundError(absl::StrCat("image ", reference,
                                          " is not in the store; get it with "
                                          "`cubby image pull ",
                                          reference, "`"));
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ImageIndex::Load() const {
  const std::string path = root_ + "/refs.json";
  absl::StatusOr<std::string> text = ReadSmallFile(path);
  std::map<std::string, std::string> references;
  if (absl::IsNotFound(text.status())) return references;
  CUBBY_RETURN_IF_ERROR(text.status());
  const json object = json::parse(*text, nullptr, false);
  if (!object.is_object()) {
    return MakeError(absl::StatusCode::kDataLoss,
                     absl::StrCat(path, ": damaged; remove it and pull the images again"),
                     {.path = path});
  }
  for (const auto& [reference, digest] : object.items()) {
    if (digest.is_string() && IsDigest(digest.get<std::string>())) {
      references[reference] = digest.get<std::string>();
    }
  }
  return references;
}

absl::Status ImageIndex::Save(const std::map<std::string, std::string>& references) const {
  return WriteFileAtomically(root_ + "/refs.json", json(references).dump(1) + "\n");
}

absl::StatusOr<std::string> ImageIndex::Find(const std::string& reference) const {
  CUBBY_ASSIGN_OR_RETURN(const auto references, Load());
  auto found = references.find(reference);
  if (found == references.end()) return NotThere(reference);
  return found->second;
}

absl::Status ImageIndex::Set(const std::string& reference, const std::string& digest) const {
  CUBBY_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Acquire(root_ + "/locks/refs"));
  CUBBY_ASSIGN_OR_RETURN(auto references, Load());
  references[reference] = digest;
  return Save(references);
}

absl::Status ImageIndex::Erase(const std::string& reference) const {
  CUBBY_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Acquire(root_ + "/locks/refs"));
  CUBBY_ASSIGN_OR_RETURN(auto references, Load());
  if (references.erase(reference) == 0) return NotThere(reference);
  return Save(references);
}

}  // namespace cubby
