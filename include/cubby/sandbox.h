// A sandbox: an isolated computer in which to run commands and to work with files.
//
// All functions may be called from any thread at any time. Calls do not wait for one another.
// Every call ends: each has a deadline, after which it fails with DEADLINE_EXCEEDED. Errors are
// described in status.h; a terminal one (IsTerminal) means that the machine is gone.
//
// Paths are absolute paths inside the sandbox, or relative to /mnt/user-data/workspace. Empty paths
// and NUL bytes are INVALID_ARGUMENT; a `..` segment is PERMISSION_DENIED, before anything reaches
// the machine. Names are bytes: newlines, blanks, colons and bytes that are not UTF-8 survive.
// Symlinks are followed, and never lead out of the sandbox.
#ifndef CUBBY_SANDBOX_H_
#define CUBBY_SANDBOX_H_

#include <stdint.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cubby/file_type.h"
#include "cubby/search.h"
#include "cubby/status.h"

namespace cubby {

// What to run: a script for the sandbox's shell, or a program with its arguments and no shell.
struct Command {
  static Command Shell(std::string script) { return {.script = std::move(script)}; }
  static Command Argv(std::vector<std::string> argv) { return {.argv = std::move(argv)}; }

  std::string script;             // run by `sh -lc`; used when argv is empty
  std::vector<std::string> argv;  // argv[0] is looked up in the command's PATH
};

struct TerminalSize {
  uint16_t rows = 24;
  uint16_t columns = 80;
};

struct ExecOptions {
  // Laid over the sandbox's own environment for this command only. Keys must match
  // [A-Za-z_][A-Za-z0-9_]*. Values never appear in an argument list, a log or an error.
  std::map<std::string, std::string> environment;
  std::string working_directory;  // empty: the workspace
  std::string user;               // "name", "uid" or "uid:gid"; empty: the sandbox's user
  std::string stdin_bytes;        // what Execute gives to the command; then end of file
  // When it passes, everything that the command started is killed and the result says timed_out.
  absl::Duration timeout = absl::Seconds(600);
  // Kept of each stream: the first and the last half; the middle is dropped, the totals are exact.
  int64_t output_limit_bytes = 10 << 20;
  // The execution's name, at most 64 of [A-Za-z0-9_.-]; empty: a random one. The same id is never
  // run twice on one machine (ALREADY_EXISTS): a caller that lost its connection attaches instead.
  std::string execution_id;
};

struct OutputStream {
  std::string bytes;        // all of it, or its beginning and its end when truncated
  int64_t total_bytes = 0;  // what the command wrote
  bool truncated = false;
  int64_t omitted_at = 0;  // where the omitted middle would stand in `bytes`
};

struct ExecResult {
  std::string execution_id;
  int exit_code = 0;           // 128 + signal when a signal ended it
  int signal = 0;              // the signal that ended the command, or 0
  bool timed_out = false;      // the time-out passed and everything was killed
  bool out_of_memory = false;  // the kernel killed something of the sandbox for its memory limit
  OutputStream out;
  OutputStream err;  // empty for a terminal, which has one stream
  absl::Duration wall_time;

  [[nodiscard]] bool ok() const { return exit_code == 0 && signal == 0 && !timed_out; }
};

enum class Channel { kStdout = 1, kStderr = 2 };

struct StartOptions : ExecOptions {
  // Set: the command gets a terminal of this size, and its output is all on kStdout.
  std::optional<TerminalSize> terminal;
  bool keep_stdin_open = false;  // false: the command sees end of file after stdin_bytes
};

// A running or finished command. Letting go of the object does not stop the command.
class Execution {
 public:
  virtual ~Execution() = default;

  [[nodiscard]] virtual const std::string& id() const = 0;

  // Delivers output as it comes until the command has ended, and returns what ended it (`out.bytes`
  // and `err.bytes` stay empty; the totals are set). A slow sink slows the command down and loses
  // nothing. UNAVAILABLE when the connection broke: Attach from the offsets reached.
  // Once, from one thread.
  virtual absl::StatusOr<ExecResult> Wait(
      const std::function<void(Channel, absl::string_view)>& sink) = 0;

  // Any thread, also while Wait runs. Blocks while the command does not read.
  virtual absl::Status WriteStdin(absl::string_view bytes) = 0;
  virtual absl::Status CloseStdin() = 0;
  virtual absl::Status Signal(int signal) = 0;  // to the command's process group
  virtual absl::Status Kill() = 0;              // everything that the command started
  virtual absl::Status Resize(TerminalSize size) = 0;
};

struct OutputOffsets {
  int64_t out = 0;
  int64_t err = 0;
};

struct ExecutionInfo {
  std::string id;
  std::string command;  // the script or the program, cut to 200 bytes; never the environment
  bool running = false;
  int exit_code = 0;
  int signal = 0;
  bool timed_out = false;
  OutputOffsets total;
  absl::Duration age;
};

struct FileInfo {
  std::string path;
  FileType type = FileType::kFile;
  int64_t size_bytes = 0;
  uint32_t mode = 0;  // permission bits, with setuid, setgid and sticky
  uint32_t uid = 0;
  uint32_t gid = 0;
  absl::Time modified;
  std::string link_target;  // of a symlink
};

struct ReadOptions {
  // Lines are 1-based and both bounds are inclusive; LF alone ends a line. A start past the end
  // gives no bytes; an end past the end is cut. Setting both kinds of range is INVALID_ARGUMENT.
  std::optional<int64_t> start_line;
  std::optional<int64_t> end_line;
  std::optional<int64_t> offset_bytes;
  std::optional<int64_t> length_bytes;
  // Read: more than this is RESOURCE_EXHAUSTED. ReadTo: no limit unless set.
  int64_t limit_bytes = 100 << 20;
};

struct FileContent {
  std::string bytes;            // a line range keeps the last line's LF when it has one
  int64_t lines = 0;            // lines read (a last one without LF counts)
  bool end_of_file = false;     // the range reached the end of the file
  int64_t file_size_bytes = 0;  // when it was opened
};

enum class Decoding { kStrict, kLossy };  // kLossy: U+FFFD for what is not UTF-8

enum class WriteMode { kReplace, kAppend };

struct WriteOptions {
  // kReplace is atomic: readers see the old or the new file. An existing file keeps its mode and
  // owner; a new one belongs to the sandbox's user. kAppend is O_APPEND: parallel appends of up to
  // 128 KiB each stay whole.
  WriteMode write_mode = WriteMode::kReplace;
  std::optional<uint32_t> mode;  // permission bits of a new file; 0644 when not set
};

struct DownloadOptions {
  int64_t limit_bytes = 100 << 20;  // counted on bytes received; more is RESOURCE_EXHAUSTED
};

struct ListOptions {
  int max_depth = 2;             // 1: direct children
  int64_t max_results = 10'000;  // at most 1,000,000
  IgnoreOptions ignore;
  absl::Duration timeout = absl::Seconds(60);
};

struct DirectoryListing {
  std::vector<FileInfo> entries;  // in path order, root excluded
  SearchSummary summary;
};

struct RemoveOptions {
  bool recursive = false;
};

struct WatchEvent {
  enum class Kind { kCreated, kModified, kRemoved, kMoved, kAttributes, kOverflow };
  Kind kind = Kind::kModified;
  std::string path;  // of kOverflow: empty (events were lost; look again)
};

struct SandboxStats {
  int64_t memory_bytes = 0;        // of the whole sandbox
  int64_t memory_limit_bytes = 0;  // 0: none
  int64_t memory_peak_bytes = 0;
  absl::Duration cpu_time;
  int64_t processes = 0;
  int64_t agent_memory_bytes = 0;  // resident
  int64_t out_of_memory_kills = 0;
  absl::Duration uptime;
};

// Bytes in: fills at most `size` bytes at `buffer` and returns how many; 0 ends the stream.
using ByteSource = std::function<absl::StatusOr<size_t>(char* buffer, size_t size)>;
// Bytes out: an error ends the transfer and is returned by it.
using ByteSink = std::function<absl::Status(absl::string_view)>;

class Sandbox {
 public:
  virtual ~Sandbox() = default;

  [[nodiscard]] virtual const std::string& id() const = 0;

  // Runs a command to its end. A command that fails or times out is a result, not an error.
  // A background child that holds the pipes does not hold the call. Never retried.
  // FAILED_PRECONDITION: no shell in the image, for a script; NOT_FOUND: no such program.
  virtual absl::StatusOr<ExecResult> Execute(const Command& command,
                                             const ExecOptions& options = {}) = 0;

  // Starts a command whose output is delivered as it comes.
  virtual absl::StatusOr<std::unique_ptr<Execution>> Start(const Command& command,
                                                           const StartOptions& options = {}) = 0;
  // Continues with an execution, from any process. OUT_OF_RANGE when the bytes at these offsets are
  // no longer kept (1 MiB per stream is, of executions that have ended the last 64).
  virtual absl::StatusOr<std::unique_ptr<Execution>> Attach(const std::string& execution_id,
                                                            const OutputOffsets& from = {}) = 0;
  virtual absl::StatusOr<std::vector<ExecutionInfo>> ListExecutions() = 0;

  // A folder is FAILED_PRECONDITION.
  virtual absl::StatusOr<FileContent> ReadFile(absl::string_view path,
                                               const ReadOptions& options = {}) = 0;
  // As ReadFile, in pieces of at most 256 KiB; `bytes` of the result stays empty.
  virtual absl::StatusOr<FileContent> ReadFileTo(absl::string_view path, const ReadOptions& options,
                                                 const ByteSink& sink) = 0;
  // As ReadFile; INVALID_ARGUMENT for content that is not UTF-8 unless `decoding` is kLossy.
  absl::StatusOr<FileContent> ReadText(absl::string_view path, const ReadOptions& options = {},
                                       Decoding decoding = Decoding::kStrict);

  // Parents are created. [C-40]
  virtual absl::Status WriteFile(absl::string_view path, absl::string_view bytes,
                                 const WriteOptions& options = {}) = 0;
  // The same from a stream of any length. When the source fails the file is as before.
  virtual absl::Status WriteFileFrom(absl::string_view path, const ByteSource& source,
                                     const WriteOptions& options = {}) = 0;

  // Only at or below /mnt/user-data, else PERMISSION_DENIED before the machine is asked. [C-50]
  absl::StatusOr<std::string> DownloadFile(absl::string_view path,
                                           const DownloadOptions& options = {});
  // The same in pieces; returns how many bytes. When it fails, a part may have been delivered.
  absl::StatusOr<int64_t> DownloadFileTo(absl::string_view path, const DownloadOptions& options,
                                         const ByteSink& sink);

  // Searches run inside the sandbox. They take a root, which must be there: NOT_FOUND; a file where
  // a folder is needed is FAILED_PRECONDITION. Symlinks below it are reported and not followed.
  // Results come in path order (folders before what is in them, names by their bytes) and carry
  // paths that every other call takes. A search that could not finish is not an error: its summary
  // says that it is truncated, and why.
  //
  // The variants that end in To deliver results as they are found, in batches, while the search
  // goes on; a sink that returns false ends it. They return the summary. The others gather at most
  // 256 MiB (RESOURCE_EXHAUSTED).
  absl::StatusOr<DirectoryListing> ListDir(absl::string_view root, const ListOptions& options = {});
  virtual absl::StatusOr<SearchSummary> ListDirTo(absl::string_view root,
                                                  const ListOptions& options,
                                                  const ResultSink<FileInfo>& sink) = 0;

  // Paths that match a glob pattern: see GlobOptions::rules. INVALID_ARGUMENT: not a pattern.
  absl::StatusOr<GlobResult> Glob(absl::string_view root, absl::string_view pattern,
                                  const GlobOptions& options = {});
  virtual absl::StatusOr<SearchSummary> GlobTo(absl::string_view root, absl::string_view pattern,
                                               const GlobOptions& options,
                                               const ResultSink<GlobMatch>& sink) = 0;

  // Lines that match a regular expression (RE2's syntax) or a string. The root may be a file.
  // INVALID_ARGUMENT: a wrong or unsupported pattern (look-around, back-references), named.
  absl::StatusOr<GrepResult> Grep(absl::string_view root, absl::string_view pattern,
                                  const GrepOptions& options = {});
  virtual absl::StatusOr<SearchSummary> GrepTo(absl::string_view root, absl::string_view pattern,
                                               const GrepOptions& options,
                                               const ResultSink<GrepMatch>& sink) = 0;

  // Of the path itself, not of what a last symlink points to.
  virtual absl::StatusOr<FileInfo> Stat(absl::string_view path) = 0;
  virtual absl::Status MakeDir(absl::string_view path) = 0;  // with parents; existing is fine
  virtual absl::Status Remove(absl::string_view path, const RemoveOptions& options = {}) = 0;
  virtual absl::Status Rename(absl::string_view from, absl::string_view to) = 0;
  // Calls `on_event` for changes below a folder (recursively) until it returns false or `timeout`
  // passes. `on_ready` is called once when all is watched.
  virtual absl::Status Watch(absl::string_view path, absl::Duration timeout,
                             const std::function<void()>& on_ready,
                             const std::function<bool(const WatchEvent&)>& on_event) = 0;

  virtual absl::StatusOr<SandboxStats> Stats() = 0;

  // A round trip to the agent.
  virtual absl::Status Ping(absl::Duration deadline = absl::Seconds(5)) = 0;
};

}  // namespace cubby

#endif  // CUBBY_SANDBOX_H_
