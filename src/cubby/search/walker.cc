#include "cubby/search/walker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cubby/base/file_mode.h"

namespace cubby::search {
namespace {

constexpr size_t kKeptDescriptors = 64;
constexpr size_t kBufferBytes = 64 << 10;
constexpr uint32_t kEntriesPerCheck = 256;

// As getdents64(2) lays it out; glibc has no name for it on every version.
struct KernelEntry {
  uint64_t inode;
  int64_t offset;
  uint16_t length;
  uint8_t type;
  char name[];
};

// In a tag: the type, and the verdict above it.
constexpr uint8_t kReport = 1 << 4;
constexpr uint8_t kDescend = 1 << 5;
constexpr uint8_t kTypeMask = 0xF;

// From linux/magic.h and kin. Their files are made up as they are read, some wait for events, and
// folders of autofs wait for a server.
bool IsPseudo(int fd) {
  struct statfs fs {};
  if (fstatfs(fd, &fs) != 0) return false;
  constexpr uint32_t kPseudo[] = {0x9FA0 /* proc */,
                                  0x62656572 /* sysfs */,
                                  0x27E0EB /* cgroup */,
                                  0x63677270 /* cgroup2 */,
                                  0x64626720 /* debugfs */,
                                  0x74726163 /* tracefs */,
                                  0x73636673 /* securityfs */,
                                  0xCAFE4A11 /* bpf */,
                                  0x6165676C /* pstore */,
                                  0xDE5E81E4 /* efivarfs */,
                                  0x62656570 /* configfs */,
                                  0x65735543 /* fusectl */,
                                  0x42494E4D /* binfmt */,
                                  0x19800202 /* mqueue */,
                                  0x1CD1 /* devpts */,
                                  0x958458F6 /* hugetlbfs */,
                                  0xF97CFF8C /* selinux */,
                                  0x6E736673 /* nsfs */,
                                  0x0187 /* autofs */};
  const auto type = static_cast<uint32_t>(fs.f_type);
  return std::find(std::begin(kPseudo), std::end(kPseudo), type) != std::end(kPseudo);
}

FileType TypeOf(uint8_t d_type, int folder, const char* name) {
  if (d_type != DT_UNKNOWN) return FileTypeOf(DTTOIF(d_type));
  // Some file systems do not say. What has gone meanwhile cannot be opened either.
  struct stat st {};
  return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? FileTypeOf(st.st_mode)
                                                              : FileType::kFile;
}

bool IsDots(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

}  // namespace

struct Walker::Frame {
  std::shared_ptr<unique_fd> fd;  // null at great depth
  size_t path_bytes = 0;          // of the folder's own path in path_
  size_t next = 0;
  dev_t device = 0;
  ino_t inode = 0;
  NameWindow names;
};

Walker::Walker(const SearchRoot& root, const WalkOptions& options, EntryFilter* filter,
               Summary* summary)
    : root_(root),
      options_(options),
      filter_(filter),
      summary_(summary),
      arena_(options.arena_bytes),
      buffer_(new char[kBufferBytes]),
      root_is_pseudo_(IsPseudo(root.fd())) {
  descend_ = options_.max_depth > 0;
}

Walker::~Walker() = default;

bool Walker::Next(Entry* entry) {
  while (!stopped_ && !Interrupted()) {
    if (std::exchange(descend_, false)) {
      Push();
      continue;
    }
    if (depth_ == 0) break;
    Frame& frame = *frames_[depth_ - 1];
    if (frame.next == frame.names.size()) {
      if (frame.names.more()) {
        ReadNextWindow(frame);
      } else {
        Pop();
      }
      continue;
    }
    const size_t i = frame.next++;
    path_.resize(frame.path_bytes);
    if (!path_.empty()) path_.push_back('/');
    name_begin_ = path_.size();
    const absl::string_view name = frame.names.name(i);
    path_.append(name.data(), name.size());
    if (path_.size() > kMaxPathBytes) {
      summary_->AddUnreadable(root_.Shown(path_));
      continue;
    }
    const uint8_t tag = frame.names.tag(i);
    descend_ = (tag & kDescend) != 0;
    if ((tag & kReport) == 0) continue;
    entry->path = path_;
    entry->name = entry->path.substr(name_begin_);
    entry->type = static_cast<FileType>(tag & kTypeMask);
    return true;
  }
  stopped_ = true;
  return false;
}

bool Walker::Interrupted() {
  if (ticks_++ % kEntriesPerCheck != 0) return stopped_;
  const Truncation cause = options_.interrupt.Check();
  if (cause == Truncation::kNone) return stopped_;
  summary_->Truncate(cause);
  stopped_ = true;
  return true;
}

absl::string_view Walker::FolderPath(const Frame& frame) const {
  return absl::string_view(path_).substr(0, frame.path_bytes);
}

void Walker::CountFailure(int error, absl::string_view path) {
  // Gone, or replaced by something that is no folder: the tree as it is now has nothing there.
  if (error == ENOENT || error == ENOTDIR || error == ELOOP) {
    ++summary_->vanished;
  } else {
    summary_->AddUnreadable(root_.Shown(path));
  }
}

// The folder at path_, the root's own being empty.
int Walker::OpenFolder(struct stat* st) {
  int fd;
  if (depth_ == 0) {
    // A descriptor of its own: the root's has an offset that other walks may use.
    fd = openat(root_.fd(), ".", kOpenFolder);
    if (fd < 0) fd = -errno;
  } else {
    fd = OpenEntry(kOpenFolder);
  }
  if (fd >= 0 && fstat(fd, st) != 0) {
    const int error = errno;
    close(fd);
    return -error;
  }
  return fd;
}

bool Walker::Entered(int fd, const struct stat& st) {
  if (depth_ == 0) return true;
  const Frame& parent = *frames_[depth_ - 1];
  if (st.st_dev != parent.device && !root_is_pseudo_ && IsPseudo(fd)) {
    ++summary_->pseudo_mounts;
    return false;
  }
  for (size_t i = 0; i < depth_; ++i) {
    if (frames_[i]->inode == st.st_ino && frames_[i]->device == st.st_dev) {
      ++summary_->loops;
      return false;
    }
  }
  return true;
}

void Walker::Push() {
  struct stat st {};
  unique_fd fd(OpenFolder(&st));
  if (fd.get() < 0) {
    CountFailure(-fd.release(), path_);
    return;
  }
  if (!Entered(fd.get(), st)) return;
  if (depth_ == frames_.size()) frames_.push_back(std::make_unique<Frame>());
  Frame& frame = *frames_[depth_];
  frame.path_bytes = path_.size();
  frame.next = 0;
  frame.device = st.st_dev;
  frame.inode = st.st_ino;
  frame.names.Open(arena_, depth_ == 0 ? nullptr : &frames_[depth_ - 1]->names);
  ++depth_;
  ReadWindow(frame, fd.get());
  if (depth_ <= kKeptDescriptors) frame.fd = std::make_shared<unique_fd>(std::move(fd));
}

void Walker::Pop() {
  Frame& frame = *frames_[--depth_];
  frame.fd.reset();
  frame.names.Close();
}

void Walker::ReadNextWindow(Frame& frame) {
  frame.names.Advance();
  frame.next = 0;
  path_.resize(frame.path_bytes);
  if (frame.fd != nullptr) {
    if (lseek(frame.fd->get(), 0, SEEK_SET) < 0) return CountFailure(errno, FolderPath(frame));
    return ReadWindow(frame, frame.fd->get());
  }
  const unique_fd fd(root_.OpenBelow(path_, kOpenFolder));
  if (fd.get() < 0) return CountFailure(-fd.get(), FolderPath(frame));
  ReadWindow(frame, fd.get());
}

void Walker::ReadWindow(Frame& frame, int fd) {
  if (filter_ != nullptr) filter_->EnterFolder(FolderPath(frame));
  while (true) {
    const long got = syscall(SYS_getdents64, fd, buffer_.get(), kBufferBytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) CountFailure(errno, FolderPath(frame));
    if (got <= 0) break;
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const KernelEntry*>(buffer_.get() + at);
      at += entry->length;
      if (!IsDots(entry->name)) Judge(frame, entry->name, entry->type, fd);
    }
    ticks_ = 0;  // a batch may be a thousand entries
    if (Interrupted()) return;
  }
  frame.names.Sort();
}

void Walker::Judge(Frame& frame, absl::string_view name, uint8_t d_type, int fd) {
  if (options_.ignore != nullptr && options_.ignore->Matches(name)) {
    if (frame.names.first()) ++summary_->ignored;
    return;
  }
  if (frame.names.first()) ++summary_->visited;
  const FileType type = TypeOf(d_type, fd, name.data());
  const Verdict verdict = filter_ == nullptr ? Verdict() : filter_->Judge(name, type);
  uint8_t tag = static_cast<uint8_t>(type);
  if (verdict.report) tag |= kReport;
  if (verdict.descend && type == FileType::kDirectory && depth_ < options_.max_depth)
    tag |= kDescend;
  if ((tag & (kReport | kDescend)) != 0) frame.names.Add(name, tag);
}

const std::shared_ptr<unique_fd>& Walker::folder_fd() const { return frames_[depth_ - 1]->fd; }

int Walker::StatEntry(struct stat* st) const {
  if (const std::shared_ptr<unique_fd>& folder = folder_fd(); folder != nullptr) {
    const char* name = path_.c_str() + name_begin_;
    return fstatat(folder->get(), name, st, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
  }
  const unique_fd fd(root_.OpenBelow(path_, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0) return -fd.get();
  return fstat(fd.get(), st) == 0 ? 0 : errno;
}

std::string Walker::LinkTarget() const {
  const int fd = OpenEntry(O_PATH | O_NOFOLLOW | O_CLOEXEC);
  const unique_fd owner(fd < 0 ? -1 : fd);
  char target[PATH_MAX];
  const ssize_t n = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof(target));
  return n < 0 ? std::string() : std::string(target, static_cast<size_t>(n));
}

int Walker::OpenEntry(int flags) const {
  const std::shared_ptr<unique_fd>& folder = folder_fd();
  if (folder == nullptr) return root_.OpenBelow(path_, flags);
  const int fd = openat(folder->get(), path_.c_str() + name_begin_, flags);
  return fd < 0 ? -errno : fd;
}

}  // namespace cubby::search
