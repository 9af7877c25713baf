// File types as st_mode holds them, inode(7).
#ifndef CUBBY_BASE_FILE_MODE_H_
#define CUBBY_BASE_FILE_MODE_H_

#include <sys/types.h>

#include "cubby/file_type.h"

namespace cubby {

// kFile for a format that inode(7) does not know.
FileType FileTypeOf(mode_t mode);

// The S_IFMT bits of a type.
mode_t FileFormatOf(FileType type);

}  // namespace cubby

#endif  // CUBBY_BASE_FILE_MODE_H_
