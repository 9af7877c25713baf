// A real tree of files for the tests of search/.
#ifndef CUBBY_SEARCH_TESTING_TEST_TREE_H_
#define CUBBY_SEARCH_TESTING_TEST_TREE_H_

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "cubby/base/file.h"
#include "cubby/base/path.h"
#include "cubby/search/search_root.h"
#include "gtest/gtest.h"

namespace cubby::search {

// A path of this machine as a root.
inline absl::StatusOr<SearchRoot> OpenPath(const std::string& path, absl::string_view shown) {
  const unique_fd machine(open("/", O_PATH | O_CLOEXEC));
  return SearchRoot::Open(machine.get(), path, shown);
}

class TestTree {
 public:
  TestTree() : directory_(*TemporaryDirectory::Create(testing::TempDir(), "cubby-search-")) {
    // Threads without privileges must get in.
    EXPECT_EQ(chmod(directory_.path().c_str(), 0755), 0);
  }

  [[nodiscard]] std::string Path(const std::string& name = "") const {
    return JoinPath(directory_.path(), name);
  }
  void Folder(const std::string& name) const {
    ASSERT_TRUE(MakeDirectories(Path(name), 0755).ok()) << name;
  }
  void File(const std::string& name, absl::string_view content = "") const {
    ASSERT_TRUE(MakeDirectories(std::string(Dirname(Path(name))), 0755).ok()) << name;
    const unique_fd fd(open(Path(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    ASSERT_TRUE(fd.valid()) << name;
    ASSERT_TRUE(WriteAll(fd.get(), content).ok()) << name;
  }
  void Link(const std::string& name, const std::string& target) const {
    ASSERT_EQ(symlink(target.c_str(), Path(name).c_str()), 0) << name;
  }
  void Fifo(const std::string& name) const { ASSERT_EQ(mkfifo(Path(name).c_str(), 0644), 0); }

  // The tree, or a part of it, named by "/r" in results.
  [[nodiscard]] SearchRoot Root(const std::string& name = "") const {
    absl::StatusOr<SearchRoot> root = OpenPath(Path(name), "/r");
    EXPECT_TRUE(root.ok()) << root.status();
    return *std::move(root);
  }

 private:
  TemporaryDirectory directory_;
};

// Runs `work` on a thread that is not root: permissions then mean something. The system call, in
// place of libc's function, changes this thread alone.
inline void WithoutPrivileges(const std::function<void()>& work) {
  std::thread([&work] {
    ASSERT_EQ(syscall(SYS_setresuid, 65534, 65534, 65534), 0);
    work();
  }).join();
}

// Runs `work` on a thread with mounts of its own, which go when it ends.
inline void WithOwnMounts(const std::function<void()>& work) {
  std::thread([&work] {
    ASSERT_EQ(unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    work();
  }).join();
}

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_TESTING_TEST_TREE_H_
