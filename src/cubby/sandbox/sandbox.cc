#include "cubby/sandbox.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/path.h"
#include "cubby/base/status_macros.h"
#include "cubby/base/utf8.h"

namespace cubby {
namespace {

constexpr size_t kMaxGatheredBytes = 256 << 20;

size_t SizeOf(const FileInfo& info) { return info.path.size() + info.link_target.size(); }
size_t SizeOf(const GlobMatch& match) { return match.path.size(); }
size_t SizeOf(const GrepMatch& match) {
  size_t bytes = match.path.size() + match.text.size();
  for (const auto* lines : {&match.before, &match.after}) {
    for (const ContextLine& line : *lines) bytes += line.text.size();
  }
  return bytes;
}

// Gathers what `search` gives to its sink.
template <typename Result>
absl::StatusOr<SearchSummary> Gather(
    std::vector<Result>* results,
    const std::function<absl::StatusOr<SearchSummary>(const ResultSink<Result>&)>& search) {
  size_t bytes = 0;
  CUBBY_ASSIGN_OR_RETURN(SearchSummary summary, search([&](absl::Span<Result> batch) {
                           for (Result& result : batch) {
                             bytes += sizeof(Result) + SizeOf(result);
                             results->push_back(std::move(result));
                           }
                           return bytes <= kMaxGatheredBytes;
                         }));
  if (bytes > kMaxGatheredBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("search: more than ", kMaxGatheredBytes >> 20,
                     " MiB of results; ask for fewer, or take them as they come"));
  }
  return summary;
}

}  // namespace

absl::StatusOr<DirectoryListing> Sandbox::ListDir(absl::string_view root,
                                                  const ListOptions& options) {
  DirectoryListing listing;
  CUBBY_ASSIGN_OR_RETURN(listing.summary,
                         Gather<FileInfo>(&listing.entries, [&](const ResultSink<FileInfo>& sink) {
                           return ListDirTo(root, options, sink);
                         }));
  return listing;
}

absl::StatusOr<GlobResult> Sandbox::Glob(absl::string_view root, absl::string_view pattern,
                                         const GlobOptions& options) {
  GlobResult result;
  CUBBY_ASSIGN_OR_RETURN(result.summary,
                         Gather<GlobMatch>(&result.matches, [&](const ResultSink<GlobMatch>& sink) {
                           return GlobTo(root, pattern, options, sink);
                         }));
  return result;
}

absl::StatusOr<GrepResult> Sandbox::Grep(absl::string_view root, absl::string_view pattern,
                                         const GrepOptions& options) {
  GrepResult result;
  CUBBY_ASSIGN_OR_RETURN(result.summary,
                         Gather<GrepMatch>(&result.matches, [&](const ResultSink<GrepMatch>& sink) {
                           return GrepTo(root, pattern, options, sink);
                         }));
  return result;
}

absl::StatusOr<FileContent> Sandbox::ReadText(absl::string_view path, const ReadOptions& options,
                                              Decoding decoding) {
  CUBBY_ASSIGN_OR_RETURN(FileContent content, ReadFile(path, options));
  const size_t valid = FirstInvalidUtf8(content.bytes);
  if (valid == content.bytes.size()) return content;
  if (decoding == Decoding::kStrict) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     absl::StrCat("read ", path, ": not UTF-8 text (byte ", valid,
                                  " of what was read); read it as bytes or ask for lossy text"),
                     {.path = std::string(path)});
  }
  content.bytes = MendUtf8(content.bytes);
  return content;
}

absl::StatusOr<int64_t> Sandbox::DownloadFileTo(absl::string_view path,
                                                const DownloadOptions& options,
                                                const ByteSink& sink) {
  CUBBY_ASSIGN_OR_RETURN(const std::string normal, NormalizePath(path));
  if (!IsWithin(normal, kUserData)) {
    return MakeError(
        absl::StatusCode::kPermissionDenied,
        absl::StrCat("download ", path, ": only files below ", kUserData, " can be downloaded"),
        {.path = std::string(path)});
  }
  int64_t bytes = 0;
  CUBBY_RETURN_IF_ERROR(ReadFileTo(normal, {}, [&](absl::string_view piece) -> absl::Status {
                          bytes += static_cast<int64_t>(piece.size());
                          if (bytes <= options.limit_bytes) return sink(piece);
                          return MakeError(
                              absl::StatusCode::kResourceExhausted,
                              absl::StrCat("download ", path, ": more than the limit of ",
                                           options.limit_bytes, " bytes"),
                              {.path = std::string(path)});
                        }).status());
  return bytes;
}

absl::StatusOr<std::string> Sandbox::DownloadFile(absl::string_view path,
                                                  const DownloadOptions& options) {
  std::string bytes;
  CUBBY_RETURN_IF_ERROR(DownloadFileTo(path, options, [&](absl::string_view piece) {
                          bytes.append(piece.data(), piece.size());
                          return absl::OkStatus();
                        }).status());
  return bytes;
}

}  // namespace cubby
