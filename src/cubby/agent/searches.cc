#include "cubby/agent/searches.h"

#include <malloc.h>
#include <sys/epoll.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cubby/agent/file_info.h"
#include "cubby/base/file_mode.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/search/glob_search.h"
#include "cubby/search/grep_search.h"
#include "cubby/search/ignore_rules.h"
#include "cubby/search/tree_listing.h"
#include "cubby/status.h"

namespace cubby::agent {
namespace {

using search::Summary;

// More of them would only wait for one another's disk, each with its memory.
constexpr int kMaxRunning = 4;
constexpr uint32_t kMaxThreads = 4;
constexpr size_t kArenaBytes = 4 << 20;
// Results go out in events of about so many bytes; the largest match (with all its context lines)
// still fits a frame beside them.
constexpr size_t kEventBytes = 64 << 10;

search::IgnoreRules IgnoreOf(const wire::SearchScope& scope) {
  const std::vector<std::string> names(scope.ignore().begin(), scope.ignore().end());
  return scope.default_ignores() ? search::IgnoreRules(names) : search::IgnoreRules::Only(names);
}

search::GlobRules RulesOf(bool compat) {
  return compat ? search::GlobRules::kCompat : search::GlobRules::kRecursive;
}

search::WalkOptions WalkOf(const wire::SearchScope& scope, const search::IgnoreRules* ignore,
                           const BackgroundSearch* search) {
  search::WalkOptions walk{.ignore = ignore, .arena_bytes = kArenaBytes};
  walk.interrupt.cancelled = search->cancelled();
  if (scope.timeout_ms() != 0) {
    walk.interrupt.deadline = Deadline::After(absl::Milliseconds(
        static_cast<int64_t>(std::min<uint64_t>(scope.timeout_ms(), 1ULL << 40))));
  }
  return walk;
}

void Report(const Summary& summary, wire::SearchDone* done) {
  done->set_truncation(static_cast<uint32_t>(summary.truncation));
  done->set_results(summary.results);
  done->set_visited(summary.visited);
  done->set_ignored(summary.ignored);
  done->set_unreadable(summary.unreadable);
  done->set_vanished(summary.vanished);
  done->set_pseudo_mounts(summary.pseudo_mounts);
  done->set_loops(summary.loops);
  done->set_utf16_files(summary.utf16_files);
  done->set_skipped_binary(summary.skipped.binary);
  done->set_skipped_too_large(summary.skipped.too_large);
  done->set_skipped_special(summary.skipped.special);
  done->set_skipped_symlinks(summary.skipped.symlinks);
  for (const std::string& path : summary.unreadable_paths) done->add_unreadable_paths(path);
}

// Gathers results into events of a size that a frame takes. `Fill` of each kind knows its field.
class EventBatch {
 public:
  explicit EventBatch(BackgroundSearch* search) : search_(search) {}

  // Room for a result of `bytes`. Null: nobody wants more.
  wire::Event* Room(size_t bytes) {
    if (bytes_ > 0 && bytes_ + bytes > kEventBytes && !Flush()) return nullptr;
    bytes_ += bytes;
    return &event_;
  }

  bool Flush() {
    if (bytes_ == 0) return true;
    bytes_ = 0;
    return search_->Deliver(std::exchange(event_, {}));
  }

 private:
  BackgroundSearch* const search_;
  wire::Event event_;
  size_t bytes_ = 0;
};

bool Send(absl::Span<search::GlobResult> results, EventBatch* batch) {
  for (search::GlobResult& result : results) {
    wire::Event* event = batch->Room(result.path.size() + 8);
    if (event == nullptr) return false;
    wire::File* file = event->mutable_files()->add_files();
    file->set_path(std::move(result.path));
    file->set_type(FileFormatOf(result.type));
  }
  return batch->Flush();
}

bool Send(absl::Span<search::ListedEntry> entries, EventBatch* batch) {
  for (search::ListedEntry& entry : entries) {
    wire::Event* event = batch->Room(entry.path.size() + entry.link_target.size() + 64);
    if (event == nullptr) return false;
    wire::File* file = event->mutable_files()->add_files();
    file->set_path(std::move(entry.path));
    file->set_link_target(std::move(entry.link_target));
    Describe(entry.status, file);
  }
  return batch->Flush();
}

void Fill(std::vector<search::ContextLine>* lines,
          google::protobuf::RepeatedPtrField<wire::ContextLine>* field) {
  for (search::ContextLine& line : *lines) {
    wire::ContextLine* to = field->Add();
    to->set_text(std::move(line.text));
    to->set_cut_after(line.cut_after);
  }
}

size_t SizeOf(const search::GrepMatch& match) {
  size_t bytes = match.path.size() + match.text.size() + 64;
  for (const auto* lines : {&match.before, &match.after}) {
    for (const search::ContextLine& line : *lines) bytes += line.text.size() + 8;
  }
  return bytes;
}

bool Send(absl::Span<search::GrepMatch> matches, EventBatch* batch) {
  for (search::GrepMatch& match : matches) {
    wire::Event* event = batch->Room(SizeOf(match));
    if (event == nullptr) return false;
    wire::Match* to = event->mutable_matches()->add_matches();
    to->set_path(std::move(match.path));
    to->set_line(match.line);
    to->set_column(match.column);
    to->set_text(std::move(match.text));
    to->set_match_begin(static_cast<uint32_t>(match.match_begin));
    to->set_match_end(static_cast<uint32_t>(match.match_end));
    to->set_cut_before(match.cut_before);
    to->set_cut_after(match.cut_after);
    to->set_utf16(match.encoding != search::TextEncoding::kUtf8);
    Fill(&match.before, to->mutable_before());
    Fill(&match.after, to->mutable_after());
  }
  return batch->Flush();
}

// Where a search runs; what it needs of the agent, and no more.
struct Ground {
  const GuestFiles* files;
  std::string working_directory;
};

absl::StatusOr<search::SearchRoot> OpenRoot(const Ground& ground, const wire::SearchScope& scope) {
  CUBBY_ASSIGN_OR_RETURN(const std::string path,
                         NormalizePath(scope.root(), ground.working_directory));
  return search::SearchRoot::Open(ground.files->root(), path, path);
}

absl::StatusOr<Summary> RunList(const Ground& ground, const wire::List& request,
                                BackgroundSearch* search) {
  CUBBY_ASSIGN_OR_RETURN(const search::SearchRoot root, OpenRoot(ground, request.scope()));
  const search::IgnoreRules ignore = IgnoreOf(request.scope());
  search::WalkOptions walk = WalkOf(request.scope(), &ignore, search);
  walk.max_depth = request.max_depth();
  EventBatch batch(search);
  return search::ListTree(
      root, {.max_results = request.scope().max_results(), .walk = walk},
      [&](absl::Span<search::ListedEntry> entries) { return Send(entries, &batch); });
}

absl::StatusOr<Summary> RunGlob(const Ground& ground, const wire::Glob& request,
                                BackgroundSearch* search) {
  CUBBY_ASSIGN_OR_RETURN(
      const search::GlobPattern pattern,
      search::GlobPattern::Compile(request.pattern(), RulesOf(request.compat())));
  CUBBY_ASSIGN_OR_RETURN(const search::SearchRoot root, OpenRoot(ground, request.scope()));
  const search::IgnoreRules ignore = IgnoreOf(request.scope());
  EventBatch batch(search);
  return search::GlobSearch(
      root, pattern,
      {.max_results = request.scope().max_results(),
       .folders =
           request.include_directories() ? search::Folders::kInclude : search::Folders::kLeaveOut,
       .walk = WalkOf(request.scope(), &ignore, search)},
      [&](absl::Span<search::GlobResult> results) { return Send(results, &batch); });
}

absl::StatusOr<Summary> RunGrep(const Ground& ground, const wire::Grep& request,
                                BackgroundSearch* search) {
  CUBBY_ASSIGN_OR_RETURN(
      const search::LinePattern pattern,
      search::LinePattern::Compile(
          request.pattern(),
          request.literal() ? search::PatternSyntax::kLiteral : search::PatternSyntax::kRegex,
          request.case_sensitive() ? search::PatternCase::kSensitive
                                   : search::PatternCase::kInsensitive));
  search::GrepOptions options{
      .max_results = request.scope().max_results(),
      .max_file_bytes = request.max_file_bytes(),
      .context_before = request.context_before(),
      .context_after = request.context_after(),
      .threads = std::clamp(std::thread::hardware_concurrency(), 1U, kMaxThreads)};
  if (!request.glob().empty()) {
    CUBBY_ASSIGN_OR_RETURN(options.glob,
                           search::GlobPattern::Compile(request.glob(), RulesOf(request.compat())));
  }
  CUBBY_ASSIGN_OR_RETURN(const search::SearchRoot root, OpenRoot(ground, request.scope()));
  const search::IgnoreRules ignore = IgnoreOf(request.scope());
  options.walk = WalkOf(request.scope(), &ignore, search);
  EventBatch batch(search);
  return search::GrepSearch(root, pattern, options, [&](absl::Span<search::GrepMatch> matches) {
    return Send(matches, &batch);
  });
}

}  // namespace

Task<absl::Status> Searches::List(StreamPtr stream, wire::List request) {
  return Run(std::move(stream),
             [request, ground = Ground{files_, settings_->working_directory}](
                 BackgroundSearch* search) { return RunList(ground, request, search); });
}

Task<absl::Status> Searches::Glob(StreamPtr stream, wire::Glob request) {
  return Run(std::move(stream),
             [request, ground = Ground{files_, settings_->working_directory}](
                 BackgroundSearch* search) { return RunGlob(ground, request, search); });
}

Task<absl::Status> Searches::Grep(StreamPtr stream, wire::Grep request) {
  return Run(std::move(stream),
             [request, ground = Ground{files_, settings_->working_directory}](
                 BackgroundSearch* search) { return RunGrep(ground, request, search); });
}

Task<absl::Status> Searches::Run(StreamPtr stream, BackgroundSearch::Work work) {
  while (running_ == kMaxRunning && stream->open()) {
    waiting_.push_back(stream);
    co_await stream->waker.Wait();
    std::erase(waiting_, stream);
  }
  if (!stream->open()) co_return stream->status();
  ++running_;
  absl::Status status;
  {
    absl::StatusOr<std::unique_ptr<BackgroundSearch>> search =
        BackgroundSearch::Start(std::move(work));
    // Not as one conditional expression: GCC 12 destroys the temporary of a co_await in one twice.
    if (search.ok()) {
      status = co_await Forward(stream, search->get());
    } else {
      status = search.status();
    }
  }
  --running_;
  // What the search had freed is the machine's again: an idle agent is small.
  malloc_trim(0);
  if (!waiting_.empty()) waiting_.front()->waker.Wake();
  co_return status;
}

// Goes on until the thread has ended, also when the client has gone: its end must not be waited for
// in a destructor, where the loop would stand.
Task<absl::Status> Searches::Forward(StreamPtr stream, BackgroundSearch* search) {
  if (absl::Status status = loop_->Watch(search->ready(), EPOLLIN | EPOLLET,
                                         [raw = stream.get()](uint32_t) { raw->waker.Wake(); });
      !status.ok()) {
    co_return status;
  }
  std::optional<absl::StatusOr<Summary>> result;
  while (true) {
    if (!stream->open()) {
      search->Cancel();
      while (search->Take().has_value()) {
      }
    } else if (stream->Credit() > 0) {
      if (std::optional<wire::Event> event = search->Take()) {
        stream->SendEvent(*event);
        continue;
      }
    }
    if ((result = search->Result()).has_value()) break;
    co_await stream->waker.Wait();
  }
  loop_->Unwatch(search->ready());
  if (!stream->open()) co_return stream->status();
  if (!result->ok()) co_return result->status();
  wire::Event done;
  Report(**result, done.mutable_search_done());
  stream->SendEvent(done);
  co_return absl::OkStatus();
}

}  // namespace cubby::agent
