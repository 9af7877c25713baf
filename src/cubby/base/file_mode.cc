#include "cubby/base/file_mode.h"

#include <sys/stat.h>

namespace cubby {

FileType FileTypeOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return FileType::kDirectory;
    case S_IFLNK:
      return FileType::kSymlink;
    case S_IFIFO:
      return FileType::kFifo;
    case S_IFSOCK:
      return FileType::kSocket;
    case S_IFCHR:
      return FileType::kCharDevice;
    case S_IFBLK:
      return FileType::kBlockDevice;
    default:
      return FileType::kFile;
  }
}

mode_t FileFormatOf(FileType type) {
  switch (type) {
    case FileType::kFile:
      return S_IFREG;
    case FileType::kDirectory:
      return S_IFDIR;
    case FileType::kSymlink:
      return S_IFLNK;
    case FileType::kFifo:
      return S_IFIFO;
    case FileType::kSocket:
      return S_IFSOCK;
    case FileType::kCharDevice:
      return S_IFCHR;
    case FileType::kBlockDevice:
      return S_IFBLK;
  }
  return S_IFREG;
}

}  // namespace cubby
