// A layer's archive: whatever it holds, nothing beside the target folder is touched.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cubby/base/file.h"
#include "cubby/image/layer_unpacker.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cubby;
  const absl::StatusOr<TemporaryDirectory> folder =
      TemporaryDirectory::Create("/tmp", "cubby-fuzz-");
  if (!folder.ok()) __builtin_trap();
  const std::string blob = folder->path() + "/blob";
  const std::string target = folder->path() + "/target";
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!ReplaceFile(blob, bytes).ok() || mkdir(target.c_str(), 0700) != 0) __builtin_trap();
  (void)UnpackLayer(blob, target, "",
                    {.max_bytes = 1 << 20, .max_entries = 100, .max_overhead_bytes = 4 << 20});
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(folder->path());
  if (!names.ok() || *names != std::vector<std::string>{"blob", "target"}) __builtin_trap();
  const absl::StatusOr<std::string> after = ReadSmallFile(blob);
  if (!after.ok() || *after != bytes) __builtin_trap();
  return 0;
}
