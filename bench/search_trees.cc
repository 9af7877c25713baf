#include "search_trees.h"

#include <fcntl.h>
#include <unistd.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "cubby/base/file.h"
#include "cubby/base/status_macros.h"
#include "cubby/base/unique_fd.h"
#include "cubby/status.h"

namespace cubby::bench {
namespace {

absl::Status MakeFile(const std::string& path, absl::string_view content) {
  const unique_fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid()) return ErrnoError(errno, "create", path);
  return WriteAll(fd.get(), content);
}

std::string Word(std::mt19937* random) {
  constexpr const char* kParts[] = {"re",   "con", "fig", "load",  "er",   "state", "map", "list",
                                    "node", "val", "ue",  "index", "size", "type",  "ing", "tion"};
  std::string word;
  for (uint32_t parts = 1 + (*random)() % 3; parts > 0; --parts) word += kParts[(*random)() % 16];
  return word;
}

std::string SourceText(std::mt19937* random, size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    text.append(2 * ((*random)() % 5), ' ');
    switch ((*random)() % 6) {
      case 0:
        absl::StrAppend(&text, "def ", Word(random), "(self, ", Word(random), "):\n");
        break;
      case 1:
        absl::StrAppend(&text, "return self.", Word(random), "[", Word(random), "]\n");
        break;
      case 2:
        absl::StrAppend(&text, "x = ", Word(random), ".get_", Word(random), "(", Word(random),
                        ")\n");
        break;
      case 3:
        absl::StrAppend(&text, "# The ", Word(random), " of the ", Word(random), " and its ",
                        Word(random), ".\n");
        break;
      case 4:
        absl::StrAppend(&text, "if ", Word(random), " != ", (*random)() % 1000, ":\n");
        break;
      default:
        absl::StrAppend(&text, Word(random), "(", Word(random), ", ", Word(random), ")\n");
    }
  }
  return text;
}

}  // namespace

absl::Status MakeCheckout(const std::string& path) {
  std::mt19937 random(1);
  constexpr const char* kKinds[] = {".py", ".js", ".ts", ".md", ".json", ".c", ".h", ".txt"};
  for (int i = 0; i < 100000; ++i) {
    const bool module = i % 10 < 6;
    const int folder = i / 100;
    const std::string parent =
        module ? absl::StrCat(path, "/web/node_modules/pkg", folder, "/lib", i % 3)
               : absl::StrCat(path, "/src/area", folder % 30, "/part", folder, "/", i % 3);
    if (i % 100 < 30) CUBBY_RETURN_IF_ERROR(MakeDirectories(parent, 0755));
    const char* kind = module ? ".js" : kKinds[random() % 4 == 0 ? 0 : random() % 8];
    CUBBY_RETURN_IF_ERROR(MakeFile(absl::StrCat(parent, "/", Word(&random), i, kind), "x\n"));
  }
  return absl::OkStatus();
}

absl::Status MakeSources(const std::string& path) {
  std::mt19937 random(2);
  for (int i = 0; i < 20000; ++i) {
    const std::string parent = absl::StrCat(path, "/lib", i / 1000, "/mod", i / 40);
    if (i % 40 == 0) CUBBY_RETURN_IF_ERROR(MakeDirectories(parent, 0755));
    std::string text = SourceText(&random, 2000 + random() % 8000);
    if (i % 5000 == 4321) absl::StrAppend(&text, "call(", kRareText, ")\n");
    CUBBY_RETURN_IF_ERROR(MakeFile(absl::StrCat(parent, "/", Word(&random), i, ".py"), text));
  }
  return absl::OkStatus();
}

absl::Status MakeMillion(const std::string& path) {
  for (int folder = 0; folder < 10000; ++folder) {
    const std::string parent = absl::StrCat(path, "/", folder / 100, "/", folder);
    CUBBY_RETURN_IF_ERROR(MakeDirectories(parent, 0755));
    for (int i = 0; i < 100; ++i) {
      CUBBY_RETURN_IF_ERROR(MakeFile(absl::StrCat(parent, "/file", i, ".py"), ""));
    }
  }
  return absl::OkStatus();
}

absl::Status MakeFlat(const std::string& path) {
  CUBBY_RETURN_IF_ERROR(MakeDirectories(path, 0755));
  for (int i = 0; i < 1000000; ++i) {
    CUBBY_RETURN_IF_ERROR(MakeFile(absl::StrCat(path, "/entry-number-", i, ".py"), ""));
  }
  return absl::OkStatus();
}

}  // namespace cubby::bench
