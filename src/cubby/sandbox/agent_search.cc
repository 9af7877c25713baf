#include "cubby/sandbox/agent_search.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cubby/base/file_mode.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {
namespace {

using wire::ClientStream;
using wire::Received;

// Beyond the search's own time-out: until then its agent has not to say anything.
constexpr absl::Duration kGrace = absl::Seconds(60);
constexpr int64_t kMaxResults = 1'000'000;
constexpr int kMaxContextLines = 100;

absl::Status FillScope(absl::string_view root, int64_t max_results, const IgnoreOptions& ignore,
                       absl::Duration timeout, wire::SearchScope* scope) {
  CUBBY_ASSIGN_OR_RETURN(*scope->mutable_root(), NormalizePath(root));
  if (max_results < 0 || max_results > kMaxResults) {
    return absl::InvalidArgumentError(
        absl::StrCat("search: max_results must be between 0 and ", kMaxResults));
  }
  if (timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("search: the time-out must be positive");
  }
  scope->set_max_results(static_cast<uint64_t>(max_results));
  scope->set_default_ignores(ignore.defaults);
  for (const std::string& name : ignore.names) {
    if (name.empty() || name.find('/') != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("search: to be ignored is a name without slashes, not \"", name, "\""));
    }
    scope->add_ignore(name);
  }
  scope->set_timeout_ms(static_cast<uint64_t>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(timeout), 1, int64_t{1} << 40)));
  return absl::OkStatus();
}

SearchSummary ToSummary(wire::SearchDone done) {
  const auto last = static_cast<uint32_t>(Truncation::kUnreadable);
  SearchSummary summary{
      // An unknown cause is one all the same.
      .truncation = static_cast<Truncation>(std::min(done.truncation(), last)),
      .results = static_cast<int64_t>(done.results()),
      .visited = static_cast<int64_t>(done.visited()),
      .ignored = static_cast<int64_t>(done.ignored()),
      .unreadable = static_cast<int64_t>(done.unreadable()),
      .vanished = static_cast<int64_t>(done.vanished()),
      .pseudo_mounts = static_cast<int64_t>(done.pseudo_mounts()),
      .loops = static_cast<int64_t>(done.loops()),
      .utf16_files = static_cast<int64_t>(done.utf16_files()),
      .skipped_binary = static_cast<int64_t>(done.skipped_binary()),
      .skipped_too_large = static_cast<int64_t>(done.skipped_too_large()),
      .skipped_special = static_cast<int64_t>(done.skipped_special()),
      .skipped_symlinks = static_cast<int64_t>(done.skipped_symlinks()),
  };
  for (std::string& path : *done.mutable_unreadable_paths()) {
    summary.unreadable_paths.push_back(std::move(path));
  }
  return summary;
}

GlobMatch ToGlobMatch(wire::File file) {
  return {.path = std::move(*file.mutable_path()), .type = FileTypeOf(file.type())};
}

std::vector<ContextLine> ToContext(google::protobuf::RepeatedPtrField<wire::ContextLine>* lines) {
  std::vector<ContextLine> context;
  for (wire::ContextLine& line : *lines) {
    context.push_back({.text = std::move(*line.mutable_text()), .cut_after = line.cut_after()});
  }
  return context;
}

GrepMatch ToGrepMatch(wire::Match match) {
  // Offsets of a hostile agent must not lead out of the text.
  const auto size = static_cast<uint32_t>(match.text().size());
  const uint32_t end = std::min(match.match_end(), size);
  return {.path = std::move(*match.mutable_path()),
          .line = static_cast<int64_t>(match.line()),
          .column = static_cast<int64_t>(match.column()),
          .text = std::move(*match.mutable_text()),
          .match_begin = std::min(match.match_begin(), end),
          .match_end = end,
          .cut_before = match.cut_before(),
          .cut_after = match.cut_after(),
          .utf16 = match.utf16(),
          .before = ToContext(match.mutable_before()),
          .after = ToContext(match.mutable_after())};
}

// Sends the request and hands over what comes. `take` moves an event's results into a vector.
template <typename Result, typename Take>
absl::StatusOr<SearchSummary> Search(AgentLink* link, wire::Request request,
                                     const wire::SearchScope& scope, const ResultSink<Result>& sink,
                                     const Take& take) {
  const Deadline deadline =
      Deadline::After(absl::Milliseconds(static_cast<int64_t>(scope.timeout_ms())) + kGrace);
  const auto limit = static_cast<int64_t>(scope.max_results());
  CUBBY_ASSIGN_OR_RETURN(ClientStream stream,
                         link->Open(std::move(request), wire::Channel::Input::kNone, deadline));
  int64_t results = 0;
  while (true) {
    absl::StatusOr<Received> received = stream.Next(deadline);
    if (!received.ok()) return link->Explain(received.status());
    if (received->kind == Received::Kind::kEnd) {
      if (!received->status.ok()) return received->status;
      // Never "complete" of a search that did not say so.
      return absl::DataLossError("search: the agent's answer is cut short");
    }
    if (received->event.has_search_done()) {
      SearchSummary summary = ToSummary(std::move(*received->event.mutable_search_done()));
      if (summary.results != results) {
        return absl::DataLossError("search: the agent has found more than it delivered");
      }
      CUBBY_RETURN_IF_ERROR(link->Explain(stream.Finish(deadline)));
      return summary;
    }
    std::vector<Result> batch;
    take(&received->event, &batch);
    results += static_cast<int64_t>(batch.size());
    if (results > limit) {
      return absl::InternalError("search: the agent delivers more than was asked for");
    }
    if (!batch.empty() && !sink(absl::MakeSpan(batch))) {
      return SearchSummary{.truncation = Truncation::kCancelled, .results = results};
    }
  }
}

}  // namespace

FileInfo ToFileInfo(wire::File file) {
  return {.path = std::move(*file.mutable_path()),
          .type = FileTypeOf(file.type()),
          .size_bytes = static_cast<int64_t>(file.size()),
          .mode = file.mode(),
          .uid = file.uid(),
          .gid = file.gid(),
          .modified = absl::FromUnixNanos(file.modified_ns()),
          .link_target = std::move(*file.mutable_link_target())};
}

absl::StatusOr<SearchSummary> ListOverAgent(AgentLink* link, absl::string_view root,
                                            const ListOptions& options,
                                            const ResultSink<FileInfo>& sink) {
  if (options.max_depth < 1) {
    return absl::InvalidArgumentError("list: max_depth must be at least 1");
  }
  wire::Request request;
  wire::List* list = request.mutable_list();
  CUBBY_RETURN_IF_ERROR(
      FillScope(root, options.max_results, options.ignore, options.timeout, list->mutable_scope()));
  list->set_max_depth(static_cast<uint32_t>(options.max_depth));
  const wire::SearchScope scope = list->scope();
  return Search<FileInfo>(link, std::move(request), scope, sink,
                          [](wire::Event* event, std::vector<FileInfo>* batch) {
                            for (wire::File& file : *event->mutable_files()->mutable_files()) {
                              batch->push_back(ToFileInfo(std::move(file)));
                            }
                          });
}

absl::StatusOr<SearchSummary> GlobOverAgent(AgentLink* link, absl::string_view root,
                                            absl::string_view pattern, const GlobOptions& options,
                                            const ResultSink<GlobMatch>& sink) {
  wire::Request request;
  wire::Glob* glob = request.mutable_glob();
  CUBBY_RETURN_IF_ERROR(
      FillScope(root, options.max_results, options.ignore, options.timeout, glob->mutable_scope()));
  glob->set_pattern(std::string(pattern));
  glob->set_compat(options.rules == GlobRules::kCompat);
  glob->set_include_directories(options.include_directories);
  const wire::SearchScope scope = glob->scope();
  return Search<GlobMatch>(link, std::move(request), scope, sink,
                           [](wire::Event* event, std::vector<GlobMatch>* batch) {
                             for (wire::File& file : *event->mutable_files()->mutable_files()) {
                               batch->push_back(ToGlobMatch(std::move(file)));
                             }
                           });
}

absl::StatusOr<SearchSummary> GrepOverAgent(AgentLink* link, absl::string_view root,
                                            absl::string_view pattern, const GrepOptions& options,
                                            const ResultSink<GrepMatch>& sink) {
  if (std::min(options.context_before, options.context_after) < 0 ||
      std::max(options.context_before, options.context_after) > kMaxContextLines) {
    return absl::InvalidArgumentError(
        absl::StrCat("search: context lines must be between 0 and ", kMaxContextLines));
  }
  if (options.max_file_bytes < 0) {
    return absl::InvalidArgumentError("search: max_file_bytes must not be negative");
  }
  wire::Request request;
  wire::Grep* grep = request.mutable_grep();
  CUBBY_RETURN_IF_ERROR(
      FillScope(root, options.max_results, options.ignore, options.timeout, grep->mutable_scope()));
  grep->set_pattern(std::string(pattern));
  grep->set_literal(options.syntax == PatternSyntax::kLiteral);
  grep->set_case_sensitive(options.letter_case == LetterCase::kSensitive);
  grep->set_glob(options.glob);
  grep->set_compat(options.rules == GlobRules::kCompat);
  grep->set_context_before(static_cast<uint32_t>(options.context_before));
  grep->set_context_after(static_cast<uint32_t>(options.context_after));
  grep->set_max_file_bytes(static_cast<uint64_t>(options.max_file_bytes));
  const wire::SearchScope scope = grep->scope();
  return Search<GrepMatch>(
      link, std::move(request), scope, sink, [](wire::Event* event, std::vector<GrepMatch>* batch) {
        for (wire::Match& match : *event->mutable_matches()->mutable_matches()) {
          batch->push_back(ToGrepMatch(std::move(match)));
        }
      });
}

}  // namespace cubby
