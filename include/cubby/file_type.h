// What an entry of a directory is.
#ifndef CUBBY_FILE_TYPE_H_
#define CUBBY_FILE_TYPE_H_

#include <stdint.h>

namespace cubby {

enum class FileType : uint8_t {
  kFile,
  kDirectory,
  kSymlink,
  kFifo,
  kSocket,
  kCharDevice,
  kBlockDevice
};

}  // namespace cubby

#endif  // CUBBY_FILE_TYPE_H_
