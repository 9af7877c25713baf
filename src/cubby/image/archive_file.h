// Tar archives of images on disk.
#ifndef CUBBY_IMAGE_ARCHIVE_FILE_H_
#define CUBBY_IMAGE_ARCHIVE_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace cubby {

// Unpacks the regular files of an image archive (OCI or docker) into an empty folder. Other kinds
// of entries are skipped, except links of docker archives to an earlier layer, which become copies.
absl::Status ExtractArchive(const std::string& path, const std::string& folder);

// Writes the files of a folder as a tar archive, in byte order of their names and with no times or
// owners: the same files give the same bytes.
absl::Status CreateArchive(const std::string& folder, const std::string& path);

// Compresses a file with gzip at its fastest level; deterministic.
absl::Status GzipFile(const std::string& from, const std::string& to);

}  // namespace cubby

#endif  // CUBBY_IMAGE_ARCHIVE_FILE_H_
