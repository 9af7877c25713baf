#include "cubby/agent/executions.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cubby/agent/user.h"
#include "cubby/base/ids.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby::agent {
namespace {

constexpr size_t kMaxKeptFinished = 64;
constexpr size_t kMaxKeptBytes = 16 << 20;
constexpr size_t kMaxUsedIds = 64 << 10;
constexpr size_t kMaxIdBytes = 64;
constexpr size_t kMaxOutputLimit = 64 << 20;
constexpr size_t kDataBytes = 64 << 10;
constexpr size_t kMaxListedCommand = 200;
constexpr int kRecordsPerEvent = 256;  // with the longest commands far below a frame
constexpr char kDefaultPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

absl::Status CheckId(absl::string_view id) {
  const bool ok =
      !id.empty() && id.size() <= kMaxIdBytes && std::all_of(id.begin(), id.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '.' || c == '-';
      });
  if (ok) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "execution id: use 1 to 64 of the characters A-Z a-z 0-9 _ . -");
}

// FNV-1a. A collision refuses an id that was not used, with a chance of 1 in 2^48 per id.
uint64_t HashId(absl::string_view id) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : id) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

absl::StatusOr<Environment> ReadEnvironment(
    const google::protobuf::RepeatedPtrField<wire::Variable>& variables) {
  Environment environment;
  for (const wire::Variable& variable : variables) environment[variable.key()] = variable.value();
  CUBBY_RETURN_IF_ERROR(CheckEnvironment(environment));
  return environment;
}

std::string Shown(const wire::Exec& request) {
  return (request.argv_size() > 0 ? request.argv(0) : request.script())
      .substr(0, kMaxListedCommand);
}

}  // namespace

Executions::Executions(EventLoop* loop, const GuestFiles* files, const Settings* settings,
                       const MemoryCgroup* memory)
    : loop_(loop),
      files_(files),
      settings_(settings),
      memory_(memory),
      oom_kills_seen_(memory->OutOfMemoryKills()) {}

Executions::~Executions() {
  if (notify_.valid()) loop_->Unwatch(notify_.get());
  if (children_.valid()) loop_->Unwatch(children_.get());
}

absl::Status Executions::Start() {
  notify_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!notify_.valid()) return ErrnoError(errno, "eventfd");
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  children_.reset(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!children_.valid()) return ErrnoError(errno, "signalfd");
  CUBBY_RETURN_IF_ERROR(loop_->Watch(notify_.get(), EPOLLIN, [this](uint32_t) { OnNotified(); }));
  return loop_->Watch(children_.get(), EPOLLIN, [this](uint32_t) { ReapChildren(); });
}

void Executions::OnNotified() {
  uint64_t count = 0;
  (void)!read(notify_.get(), &count, sizeof(count));
  // Copied: finishing an execution may remove it.
  std::vector<ExecutionPtr> all;
  for (const auto& [pid, execution] : by_supervisor_) all.push_back(execution);
  for (const ExecutionPtr& execution : all) execution->OnSupervisorNews();
}

void Executions::ReapChildren() {
  signalfd_siginfo info;
  while (read(children_.get(), &info, sizeof(info)) > 0) {
  }
  while (true) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);
    if (pid <= 0) return;
    auto found = by_supervisor_.find(pid);
    if (found != by_supervisor_.end()) {
      const ExecutionPtr execution = found->second;
      Supervisor* supervisor = execution->supervisor();
      supervisor->SetReaped();
      // A supervisor that was killed leaves its command to us: it stays on the books.
      if (supervisor->started() &&
          (supervisor->command_ended() || supervisor->start_error() != 0)) {
        by_supervisor_.erase(found);
      } else if (!supervisor->started()) {
        by_supervisor_.erase(found);
        supervisor->SetCommandEnded(status);
      }
      execution->OnSupervisorEnded();
      if (execution->dropped()) executions_.erase(execution->id());
      continue;
    }
    // An orphan: a killed supervisor's command, or some descendant of it.
    for (auto at = by_supervisor_.begin(); at != by_supervisor_.end(); ++at) {
      if (at->second->supervisor()->command_pid() != pid) continue;
      const ExecutionPtr execution = at->second;
      by_supervisor_.erase(at);
      execution->supervisor()->SetCommandEnded(status);
      execution->OnSupervisorNews();
      break;
    }
  }
}

bool Executions::OutOfMemory() {
  const uint64_t kills = memory_->OutOfMemoryKills();
  return std::exchange(oom_kills_seen_, kills) < kills;
}

absl::StatusOr<User> Executions::UserFor(const std::string& wanted) const {
  if (wanted.empty() && settings_->found_user.has_value()) return *settings_->found_user;
  // An image may have neither file; then only numbers name users.
  return FindUser(wanted.empty() ? settings_->user : wanted,
                  files_->ReadSmall("/etc/passwd").value_or(""),
                  files_->ReadSmall("/etc/group").value_or(""));
}

absl::StatusOr<CommandPlan> Executions::MakePlan(const wire::Exec& request) const {
  CommandPlan plan;
  CUBBY_ASSIGN_OR_RETURN(const Environment own, ReadEnvironment(request.environment()));
  Environment environment = MergeEnvironment(settings_->environment, own);
  CUBBY_ASSIGN_OR_RETURN(const User user, UserFor(request.user()));
  plan.uid = user.uid;
  plan.gid = user.gid;
  plan.groups = user.groups;
  environment.emplace("HOME", user.home);
  environment.emplace("PATH", kDefaultPath);
  if (request.has_terminal()) environment.emplace("TERM", "xterm");
  if (request.argv_size() > 0) {
    plan.argv.assign(request.argv().begin(), request.argv().end());
  } else {
    if (request.script().empty()) return absl::InvalidArgumentError("exec: no command");
    plan.argv = {"sh", "-lc", request.script()};
  }
  for (const std::string& word : plan.argv) {
    if (word.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError("exec: an argument contains a NUL byte");
    }
  }
  if (plan.argv[0].empty()) return absl::InvalidArgumentError("exec: the program's name is empty");
  if (plan.argv[0].find('/') != std::string::npos) {
    plan.candidates = {plan.argv[0]};
  } else {
    for (absl::string_view folder : absl::StrSplit(environment["PATH"], ':')) {
      plan.candidates.push_back(JoinPath(folder.empty() ? "." : folder, plan.argv[0]));
    }
  }
  plan.environment = EnvironmentStrings(environment);
  CUBBY_ASSIGN_OR_RETURN(plan.working_directory, NormalizePath(request.working_directory().empty()
                                                                   ? settings_->working_directory
                                                                   : request.working_directory(),
                                                               settings_->working_directory));
  return plan;
}

absl::StatusOr<Executions::ExecutionPtr> Executions::Launch(const Stream& stream,
                                                            const wire::Exec& request) {
  const std::string id = request.id().empty() ? RandomHex(8) : request.id();
  CUBBY_RETURN_IF_ERROR(CheckId(id));
  if (executions_.contains(id) || used_.contains(HashId(id))) {
    return absl::AlreadyExistsError(
        absl::StrCat("execution ", id, " was started before; attach to it to see its output"));
  }
  CUBBY_ASSIGN_OR_RETURN(CommandPlan plan, MakePlan(request));
  Execution::Options options{
      .id = id,
      .command = Shown(request),
      .working_directory = plan.working_directory,
      .output_limit = std::min<size_t>(request.output_limit(), kMaxOutputLimit),
      .follow = request.follow(),
      .keep_stdin_open = !stream.input_ended(),
      .terminal = request.has_terminal(),
      .rows = static_cast<uint16_t>(std::min<uint32_t>(request.terminal().rows(), 0xffff)),
      .columns = static_cast<uint16_t>(std::min<uint32_t>(request.terminal().columns(), 0xffff))};
  if (request.timeout_ms() != 0) {
    options.timeout = absl::Milliseconds(
        static_cast<int64_t>(std::min<uint64_t>(request.timeout_ms(), 1ULL << 40)));
  }
  auto execution = std::make_shared<Execution>(loop_, std::move(options));
  execution->was_out_of_memory = [this] { return OutOfMemory(); };
  execution->on_finished = [this, id] {
    finished_.push_back(id);
    TrimFinished();
  };
  CUBBY_RETURN_IF_ERROR(execution->Start(std::move(plan), notify_.get()));
  executions_[id] = execution;
  by_supervisor_[execution->supervisor()->pid()] = execution;
  return execution;
}

void Executions::TrimFinished() {
  size_t count = 0;
  size_t kept = 0;
  std::vector<std::string> idle;  // oldest first
  for (const std::string& id : finished_) {
    auto found = executions_.find(id);
    // A result that is on its way to its caller is not anybody's to drop.
    if (found == executions_.end() || found->second->attached()) continue;
    ++count;
    kept += found->second->kept_bytes();
    idle.push_back(id);
  }
  for (const std::string& id : idle) {
    // One is kept whatever its size: its caller may be about to come back.
    if (count <= 1 || (count <= kMaxKeptFinished && kept <= kMaxKeptBytes)) return;
    --count;
    kept -= executions_.find(id)->second->kept_bytes();
    Forget(id);
  }
}

void Executions::Remember(const std::string& id) {
  const uint64_t hash = HashId(id);
  if (!used_.insert(hash).second) return;
  used_order_.push_back(hash);
  if (used_order_.size() > kMaxUsedIds) {
    used_.erase(used_order_.front());
    used_order_.pop_front();
  }
}

void Executions::Forget(const std::string& id) {
  finished_.erase(std::remove(finished_.begin(), finished_.end(), id), finished_.end());
  auto found = executions_.find(id);
  if (found == executions_.end()) return;
  Remember(id);
  found->second->DropOutput();
  // While a background job lives its pipes must be read; ReapChildren removes it then.
  if (found->second->supervisor()->reaped()) executions_.erase(found);
}

Task<absl::Status> Executions::Exec(StreamPtr stream, wire::Exec request) {
  absl::StatusOr<ExecutionPtr> launched = Launch(*stream, request);
  if (!launched.ok()) co_return launched.status();
  ExecutionPtr execution = *std::move(launched);
  Reader reader;
  reader.follow = request.follow();
  co_return co_await Serve(std::move(stream), std::move(execution), reader, Role::kStarter);
}

Task<absl::Status> Executions::Attach(StreamPtr stream, wire::Attach request) {
  auto found = executions_.find(request.id());
  if (found == executions_.end() || found->second->dropped()) {
    co_return absl::NotFoundError(
        absl::StrCat("execution ", request.id(), ": not running, and no longer kept"));
  }
  ExecutionPtr execution = found->second;
  Reader reader;
  reader.follow = request.follow();
  reader.offset[kOut] = request.out_offset();
  reader.offset[kErr] = request.err_offset();
  for (int channel : {kOut, kErr}) {
    const OutputBuffer& output = execution->output(channel);
    const uint64_t offset = reader.offset[channel];
    const bool kept = offset == output.total() || !output.From(offset).empty();
    if (request.follow() && !kept) {
      co_return absl::OutOfRangeError(
          absl::StrCat("execution ", request.id(), ": byte ", offset, " of its ",
                       channel == kOut ? "output" : "error output", " is not kept; bytes ",
                       output.tail_begin(), " to ", output.total(), " are"));
    }
  }
  co_return co_await Serve(std::move(stream), std::move(execution), reader, Role::kAttached);
}

bool Executions::SendOutput(Stream* stream, const Execution& execution, Reader* reader) {
  if (!reader->follow && !execution.finished()) return false;
  for (int channel : {kOut, kErr}) {
    const OutputBuffer& output = execution.output(channel);
    uint64_t& offset = reader->offset[channel];
    while (offset < output.total()) {
      if (offset >= output.head_end() && offset < output.tail_begin()) {
        if (stream->Credit() == 0) return false;
        wire::Event event;
        event.mutable_gap()->set_channel(static_cast<uint32_t>(channel + 1));
        event.mutable_gap()->set_from(offset);
        event.mutable_gap()->set_to(output.tail_begin());
        stream->SendEvent(event);
        offset = output.tail_begin();
        continue;
      }
      const size_t credit = static_cast<size_t>(stream->Credit());
      const absl::string_view piece = output.From(offset).substr(0, std::min(credit, kDataBytes));
      if (piece.empty()) return false;
      stream->SendData(channel + 1, piece);
      offset += piece.size();
    }
  }
  return execution.finished();
}

void Executions::HandleControls(Stream* stream, Execution* execution, bool* acknowledged) {
  wire::Control control;
  while (stream->NextControl(&control)) {
    // A signal that comes too late, or a terminal that is not there, is no error of the stream:
    // the client sees the command's end.
    if (control.has_signal()) {
      execution->SendSignal(control.signal()).IgnoreError();
    } else if (control.has_kill()) {
      execution->KillEverything();
    } else if (control.has_resize()) {
      execution
          ->Resize(static_cast<uint16_t>(std::min<uint32_t>(control.resize().rows(), 0xffff)),
                   static_cast<uint16_t>(std::min<uint32_t>(control.resize().columns(), 0xffff)))
          .IgnoreError();
    } else if (control.has_acknowledge()) {
      *acknowledged = true;
    }
  }
}

Task<absl::Status> Executions::Serve(StreamPtr stream, ExecutionPtr execution, Reader reader,
                                     Role role) {
  reader.waker = &stream->waker;
  execution->Attach(&reader);
  bool announced = false;
  // A client that only attached to look says nothing about the command's input.
  const bool takes_input = role == Role::kStarter || !stream->input_ended();
  bool input_closed = false;
  bool result_sent = false;
  bool acknowledged = false;
  absl::Status status;
  while (true) {
    // Also those of a client that sent a signal and let go at once.
    HandleControls(stream.get(), execution.get(), &acknowledged);
    if (!stream->open()) {
      status = stream->status();
      break;
    }
    if (!execution->start_status().ok()) {
      status = execution->start_status();
      break;
    }
    if (result_sent) {
      // Nobody reads what the client may still be sending; it must not wait for room.
      stream->Consume(stream->input().size());
      if (acknowledged) break;
      co_await stream->waker.Wait();
      continue;
    }
    while (!stream->input().empty()) {
      const size_t taken = execution->WriteInput(stream->input());
      if (taken == 0) break;
      stream->Consume(taken);
    }
    if (takes_input && stream->input_ended() && !input_closed) {
      input_closed = true;
      execution->CloseInput();
    }
    if (execution->started()) {
      if (reader.follow && !announced && stream->Credit() > 0) {
        announced = true;
        wire::Event event;
        event.mutable_started()->set_id(execution->id());
        event.mutable_started()->set_pid(execution->supervisor()->command_pid());
        stream->SendEvent(event);
      }
      const bool all_sent = SendOutput(stream.get(), *execution, &reader);
      execution->OnConsumed();
      if (all_sent && stream->Credit() > 0) {
        wire::Event event;
        *event.mutable_exited() = execution->exited();
        stream->SendEvent(event);
        result_sent = true;
        continue;
      }
    }
    co_await stream->waker.Wait();
  }
  execution->Detach(&reader);
  if (!execution->start_status().ok()) {
    // It never ran: the id may be used again.
    executions_.erase(execution->id());
  } else if (acknowledged) {
    Forget(execution->id());
  } else {
    TrimFinished();
  }
  co_return status;
}

Task<absl::Status> Executions::List(StreamPtr stream) {
  // Everything is put down before anything is sent: the list changes while a slow client is waited
  // for.
  std::vector<wire::Event> batches(1);
  batches.back().mutable_executions();  // an empty list is an answer too
  for (const auto& [id, execution] : executions_) {
    if (execution->dropped()) continue;
    if (batches.back().executions().executions_size() == kRecordsPerEvent) batches.emplace_back();
    wire::ExecutionRecord* record = batches.back().mutable_executions()->add_executions();
    record->set_id(id);
    record->set_command(execution->options().command);
    record->set_running(!execution->finished());
    record->set_age_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(execution->age())));
    record->set_out_total(execution->output(kOut).total());
    record->set_err_total(execution->output(kErr).total());
    if (execution->finished()) *record->mutable_exited() = execution->exited();
  }
  for (const wire::Event& batch : batches) {
    while (stream->open() && stream->Credit() == 0) co_await stream->waker.Wait();
    if (!stream->open()) co_return stream->status();
    stream->SendEvent(batch);
  }
  co_return absl::OkStatus();
}

void Executions::KillAll() {
  for (const auto& [id, execution] : executions_) execution->KillEverything();
}

}  // namespace cubby::agent
