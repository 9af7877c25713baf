#include "cubby/sandbox/agent_sandbox.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/sandbox/agent_execution.h"
#include "cubby/sandbox/agent_search.h"
#include "cubby/status.h"

namespace cubby {
namespace {

using Link = wire::Channel;
using wire::ClientStream;
using wire::Received;

constexpr absl::Duration kCallDeadline = absl::Seconds(60);
// Transfers and listings of any size are bounded by their progress, not by their length.
constexpr absl::Duration kStall = absl::Seconds(60);
// Enough for a fast connection to be busy while each side handles what it has.
constexpr uint32_t kBulkWindowBytes = 1 << 20;
constexpr size_t kPieceBytes = 128 << 10;
// A hostile agent cannot make a list grow without bound.
constexpr size_t kMaxListedExecutions = 100000;

const char* const kStandardFolders[] = {"/mnt/user-data/workspace", "/mnt/user-data/uploads",
                                        "/mnt/user-data/outputs", "/mnt/skills"};

absl::Status CheckRange(const ReadOptions& options) {
  const bool by_line = options.start_line.has_value() || options.end_line.has_value();
  const bool by_byte = options.offset_bytes.has_value() || options.length_bytes.has_value();
  if (by_line && by_byte) {
    return absl::InvalidArgumentError(
        "read: a range of lines and a range of bytes exclude each other");
  }
  if (options.start_line.value_or(1) < 1 || options.end_line.value_or(1) < 1) {
    return absl::InvalidArgumentError("read: lines are counted from 1");
  }
  if (options.end_line.has_value() && options.start_line.value_or(1) > *options.end_line) {
    return absl::InvalidArgumentError(absl::StrCat("read: start line ", *options.start_line,
                                                   " is after end line ", *options.end_line));
  }
  if (options.offset_bytes.value_or(0) < 0 || options.length_bytes.value_or(0) < 0) {
    return absl::InvalidArgumentError("read: offset and length must not be negative");
  }
  return absl::OkStatus();
}

}  // namespace

AgentSandbox::AgentSandbox(std::string id, AgentConnector connect)
    : id_(std::move(id)), link_(std::make_shared<AgentLink>(std::move(connect))) {}

absl::Status AgentSandbox::Call(wire::Request request) {
  const Deadline deadline = Deadline::After(kCallDeadline);
  request.set_deadline_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(kCallDeadline)));
  CUBBY_ASSIGN_OR_RETURN(ClientStream stream,
                         link_->Open(std::move(request), Link::Input::kNone, deadline));
  return link_->Explain(stream.Finish(deadline));
}

absl::StatusOr<wire::Event> AgentSandbox::CallForEvent(wire::Request request) {
  const Deadline deadline = Deadline::After(kCallDeadline);
  request.set_deadline_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(kCallDeadline)));
  CUBBY_ASSIGN_OR_RETURN(ClientStream stream,
                         link_->Open(std::move(request), Link::Input::kNone, deadline));
  absl::StatusOr<wire::Event> event = stream.NextEvent(deadline);
  if (!event.ok()) return link_->Explain(event.status());
  CUBBY_RETURN_IF_ERROR(link_->Explain(stream.Finish(deadline)));
  return event;
}

absl::Status AgentSandbox::Configure(const SandboxSettings& settings, Deadline deadline) {
  wire::Request request;
  wire::Configure* configure = request.mutable_configure();
  for (const auto& [key, value] : settings.environment) {
    wire::Variable* variable = configure->add_environment();
    variable->set_key(key);
    variable->set_value(value);
  }
  configure->set_user(settings.user);
  configure->set_working_directory(kWorkspace);
  for (const char* folder : kStandardFolders) configure->add_folders(folder);
  CUBBY_ASSIGN_OR_RETURN(ClientStream stream,
                         link_->Open(std::move(request), Link::Input::kNone, deadline));
  return link_->Explain(stream.Finish(deadline));
}

absl::StatusOr<ExecResult> AgentSandbox::Execute(const Command& command,
                                                 const ExecOptions& options) {
  return RunToEnd(link_.get(), command, options);
}

absl::StatusOr<std::unique_ptr<Execution>> AgentSandbox::Start(const Command& command,
                                                               const StartOptions& options) {
  return StartExecution(link_, command, options);
}

absl::StatusOr<std::unique_ptr<Execution>> AgentSandbox::Attach(const std::string& execution_id,
                                                                const OutputOffsets& from) {
  return AttachExecution(link_, execution_id, from);
}

absl::StatusOr<std::vector<ExecutionInfo>> AgentSandbox::ListExecutions() {
  wire::Request request;
  request.mutable_list_executions();
  CUBBY_ASSIGN_OR_RETURN(ClientStream stream, link_->Open(std::move(request), Link::Input::kNone,
                                                          Deadline::After(kStall)));
  std::vector<ExecutionInfo> executions;
  while (true) {
    absl::StatusOr<Received> received = stream.Next(Deadline::After(kStall));
    if (!received.ok()) return link_->Explain(received.status());
    if (received->kind == Received::Kind::kEnd) {
      if (!received->status.ok()) return received->status;
      return executions;
    }
    for (const wire::ExecutionRecord& record : received->event.executions().executions()) {
      if (executions.size() == kMaxListedExecutions) {
        return absl::InternalError("the agent lists more executions than it can have");
      }
      executions.push_back({.id = record.id(),
                            .command = record.command(),
                            .running = record.running(),
                            .exit_code = record.exited().exit_code(),
                            .signal = record.exited().signal(),
                            .timed_out = record.exited().timed_out(),
                            .total = {.out = static_cast<int64_t>(record.out_total()),
                                      .err = static_cast<int64_t>(record.err_total())},
                            .age = absl::Milliseconds(static_cast<int64_t>(record.age_ms()))});
    }
  }
}

absl::StatusOr<FileContent> AgentSandbox::Read(absl::string_view path, const ReadOptions& options,
                                               const ByteSink& sink) {
  CUBBY_ASSIGN_OR_RETURN(const std::string normal, NormalizePath(path));
  CUBBY_RETURN_IF_ERROR(CheckRange(options));
  wire::Request request;
  request.set_window_bytes(kBulkWindowBytes);
  wire::ReadFile* read = request.mutable_read_file();
  read->set_path(normal);
  read->set_start_line(static_cast<uint64_t>(options.start_line.value_or(0)));
  read->set_end_line(static_cast<uint64_t>(options.end_line.value_or(0)));
  read->set_offset(static_cast<uint64_t>(options.offset_bytes.value_or(0)));
  if (options.length_bytes.has_value()) {
    read->set_length(static_cast<uint64_t>(*options.length_bytes));
    read->set_has_length(true);
  }
  CUBBY_ASSIGN_OR_RETURN(ClientStream stream, link_->Open(std::move(request), Link::Input::kNone,
                                                          Deadline::After(kStall)));
  FileContent content;
  bool done = false;
  while (true) {
    absl::StatusOr<Received> received = stream.Next(Deadline::After(kStall));
    if (!received.ok()) return link_->Explain(received.status());
    switch (received->kind) {
      case Received::Kind::kData:
        CUBBY_RETURN_IF_ERROR(sink(received->bytes));
        stream.Recycle(std::move(received->bytes));
        break;
      case Received::Kind::kEvent:
        if (received->event.has_file_opened()) {
          content.file_size_bytes = static_cast<int64_t>(received->event.file_opened().size());
        } else if (received->event.has_read_done()) {
          content.lines = static_cast<int64_t>(received->event.read_done().lines());
          content.end_of_file = received->event.read_done().end_of_file();
          done = true;
        }
        break;
      case Received::Kind::kEnd:
        if (!received->status.ok()) return received->status;
        // Never success with bytes missing.
        if (!done) return absl::DataLossError(absl::StrCat("read ", normal, ": cut short"));
        return content;
    }
  }
}

absl::StatusOr<FileContent> AgentSandbox::ReadFile(absl::string_view path,
                                                   const ReadOptions& options) {
  std::string bytes;
  CUBBY_ASSIGN_OR_RETURN(
      FileContent content, Read(path, options, [&](absl::string_view piece) -> absl::Status {
        if (static_cast<int64_t>(bytes.size() + piece.size()) > options.limit_bytes) {
          return MakeError(absl::StatusCode::kResourceExhausted,
                           absl::StrCat("read ", path, ": more than the limit of ",
                                        options.limit_bytes, " bytes; read it in ranges"),
                           {.path = std::string(path)});
        }
        bytes.append(piece.data(), piece.size());
        return absl::OkStatus();
      }));
  content.bytes = std::move(bytes);
  return content;
}

absl::StatusOr<FileContent> AgentSandbox::ReadFileTo(absl::string_view path,
                                                     const ReadOptions& options,
                                                     const ByteSink& sink) {
  return Read(path, options, sink);
}

absl::Status AgentSandbox::WriteFile(absl::string_view path, absl::string_view bytes,
                                     const WriteOptions& options) {
  return WriteFileFrom(
      path,
      [&bytes](char* buffer, size_t size) -> absl::StatusOr<size_t> {
        const size_t n = std::min(size, bytes.size());
        std::copy_n(bytes.data(), n, buffer);
        bytes.remove_prefix(n);
        return n;
      },
      options);
}

absl::Status AgentSandbox::WriteFileFrom(absl::string_view path, const ByteSource& source,
                                         const WriteOptions& options) {
  CUBBY_ASSIGN_OR_RETURN(const std::string normal, NormalizePath(path));
  wire::Request request;
  wire::WriteFile* write = request.mutable_write_file();
  write->set_path(normal);
  write->set_append(options.write_mode == WriteMode::kAppend);
  write->set_mode(options.mode.value_or(0));
  write->set_has_mode(options.mode.has_value());
  CUBBY_ASSIGN_OR_RETURN(ClientStream stream, link_->Open(std::move(request), Link::Input::kStream,
                                                          Deadline::After(kStall)));
  std::string buffer(kPieceBytes, '\0');
  while (true) {
    // On a failing source the stream is cancelled by its destructor, and the agent drops the file.
    CUBBY_ASSIGN_OR_RETURN(const size_t size, source(buffer.data(), buffer.size()));
    if (size == 0) break;
    const absl::Status sent =
        stream.Send(absl::string_view(buffer.data(), size), Deadline::After(kStall));
    // The agent has ended the stream; how is told below.
    if (absl::IsFailedPrecondition(sent)) break;
    if (!sent.ok()) return link_->Explain(sent);
  }
  stream.SendFin().IgnoreError();  // a lost connection is told by the answer
  return link_->Explain(stream.Finish(Deadline::After(kStall)));
}

absl::StatusOr<SearchSummary> AgentSandbox::ListDirTo(absl::string_view root,
                                                      const ListOptions& options,
                                                      const ResultSink<FileInfo>& sink) {
  return ListOverAgent(link_.get(), root, options, sink);
}

absl::StatusOr<SearchSummary> AgentSandbox::GlobTo(absl::string_view root,
                                                   absl::string_view pattern,
                                                   const GlobOptions& options,
                                                   const ResultSink<GlobMatch>& sink) {
  return GlobOverAgent(link_.get(), root, pattern, options, sink);
}

absl::StatusOr<SearchSummary> AgentSandbox::GrepTo(absl::string_view root,
                                                   absl::string_view pattern,
                                                   const GrepOptions& options,
                                                   const ResultSink<GrepMatch>& sink) {
  return GrepOverAgent(link_.get(), root, pattern, options, sink);
}

absl::StatusOr<FileInfo> AgentSandbox::Stat(absl::string_view path) {
  wire::Request request;
  CUBBY_ASSIGN_OR_RETURN(*request.mutable_stat()->mutable_path(), NormalizePath(path));
  CUBBY_ASSIGN_OR_RETURN(wire::Event event, CallForEvent(std::move(request)));
  if (event.files().files_size() != 1)
    return absl::InternalError("stat: the agent's answer is odd");
  return ToFileInfo(std::move(*event.mutable_files()->mutable_files(0)));
}

absl::Status AgentSandbox::MakeDir(absl::string_view path) {
  wire::Request request;
  CUBBY_ASSIGN_OR_RETURN(*request.mutable_make_dir()->mutable_path(), NormalizePath(path));
  return Call(std::move(request));
}

absl::Status AgentSandbox::Remove(absl::string_view path, const RemoveOptions& options) {
  wire::Request request;
  CUBBY_ASSIGN_OR_RETURN(*request.mutable_remove()->mutable_path(), NormalizePath(path));
  request.mutable_remove()->set_recursive(options.recursive);
  return Call(std::move(request));
}

absl::Status AgentSandbox::Rename(absl::string_view from, absl::string_view to) {
  wire::Request request;
  CUBBY_ASSIGN_OR_RETURN(*request.mutable_rename()->mutable_from(), NormalizePath(from));
  CUBBY_ASSIGN_OR_RETURN(*request.mutable_rename()->mutable_to(), NormalizePath(to));
  return Call(std::move(request));
}

absl::Status AgentSandbox::Watch(absl::string_view path, absl::Duration timeout,
                                 const std::function<void()>& on_ready,
                                 const std::function<bool(const WatchEvent&)>& on_event) {
  wire::Request request;
  CUBBY_ASSIGN_OR_RETURN(*request.mutable_watch()->mutable_path(), NormalizePath(path));
  const Deadline deadline = Deadline::After(timeout);
  CUBBY_ASSIGN_OR_RETURN(ClientStream stream,
                         link_->Open(std::move(request), Link::Input::kNone, deadline));
  bool ready = false;
  while (true) {
    absl::StatusOr<wire::Event> event = stream.NextEvent(deadline);
    if (absl::IsDeadlineExceeded(event.status())) return absl::OkStatus();
    if (!event.ok()) return link_->Explain(event.status());
    if (!std::exchange(ready, true) && on_ready) on_ready();
    for (const wire::Change& change : event->changes().changes()) {
      if (change.kind() > static_cast<uint32_t>(WatchEvent::Kind::kOverflow)) continue;
      const WatchEvent seen{.kind = static_cast<WatchEvent::Kind>(change.kind()),
                            .path = change.path()};
      if (!on_event(seen)) return absl::OkStatus();
    }
  }
}

absl::StatusOr<SandboxStats> AgentSandbox::Stats() {
  wire::Request request;
  request.mutable_metrics();
  CUBBY_ASSIGN_OR_RETURN(const wire::Event event, CallForEvent(std::move(request)));
  const wire::MetricsReport& report = event.metrics();
  return SandboxStats{.memory_bytes = static_cast<int64_t>(report.memory()),
                      .memory_limit_bytes = static_cast<int64_t>(report.memory_limit()),
                      .memory_peak_bytes = static_cast<int64_t>(report.memory_peak()),
                      .cpu_time = absl::Microseconds(static_cast<int64_t>(report.cpu_us())),
                      .processes = static_cast<int64_t>(report.processes()),
                      .agent_memory_bytes = static_cast<int64_t>(report.agent_memory()),
                      .out_of_memory_kills = static_cast<int64_t>(report.oom_kills()),
                      .uptime = absl::Milliseconds(static_cast<int64_t>(report.uptime_ms()))};
}

absl::Status AgentSandbox::Ping(absl::Duration deadline) {
  const Deadline until = Deadline::After(deadline);
  CUBBY_ASSIGN_OR_RETURN(const std::shared_ptr<Link> channel, link_->Get(until));
  return link_->Explain(channel->Ping(until));
}

}  // namespace cubby
