#include "cubby/mcp/resources.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cubby/base/path.h"
#include "cubby/base/utf8.h"

namespace cubby::mcp {
namespace {

constexpr absl::string_view kScheme = "cubby://";

constexpr std::pair<absl::string_view, absl::string_view> kMimeTypes[] = {
    {".png", "image/png"},       {".jpg", "image/jpeg"},       {".jpeg", "image/jpeg"},
    {".gif", "image/gif"},       {".webp", "image/webp"},      {".svg", "image/svg+xml"},
    {".txt", "text/plain"},      {".log", "text/plain"},       {".md", "text/markdown"},
    {".csv", "text/csv"},        {".html", "text/html"},       {".css", "text/css"},
    {".js", "text/javascript"},  {".py", "text/x-python"},     {".json", "application/json"},
    {".xml", "application/xml"}, {".pdf", "application/pdf"},  {".zip", "application/zip"},
    {".gz", "application/gzip"}, {".tar", "application/x-tar"}};

// What models can look at.
bool IsPicture(absl::string_view mime_type) {
  return mime_type == "image/png" || mime_type == "image/jpeg" || mime_type == "image/gif" ||
         mime_type == "image/webp";
}

bool IsText(absl::string_view bytes) {
  return FirstInvalidUtf8(bytes) == bytes.size() && bytes.find('\0') == absl::string_view::npos;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string MimeTypeOf(absl::string_view path) {
  const std::string lower = absl::AsciiStrToLower(path);
  for (const auto& [ending, type] : kMimeTypes) {
    if (absl::EndsWith(lower, ending)) return std::string(type);
  }
  return "application/octet-stream";
}

std::string UriOf(absl::string_view sandbox_id, absl::string_view path) {
  std::string uri = absl::StrCat(kScheme, sandbox_id);
  for (const char c : path) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-._~/", c)) {
      uri += c;
    } else {
      absl::StrAppend(&uri, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return uri;
}

std::optional<ResourceName> ParseUri(absl::string_view uri) {
  if (!absl::ConsumePrefix(&uri, kScheme)) return std::nullopt;
  const size_t slash = uri.find('/');
  if (slash == absl::string_view::npos || slash == 0) return std::nullopt;
  ResourceName name{.sandbox_id = std::string(uri.substr(0, slash))};
  uri.remove_prefix(slash);
  for (size_t i = 0; i < uri.size(); ++i) {
    if (uri[i] != '%') {
      name.path += uri[i];
      continue;
    }
    if (i + 2 >= uri.size()) return std::nullopt;
    const int high = HexDigit(uri[i + 1]);
    const int low = HexDigit(uri[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    name.path += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return name;
}

Json ResourceContents(absl::string_view uri, absl::string_view path, absl::string_view bytes) {
  Json contents = {{"uri", std::string(uri)}, {"mimeType", MimeTypeOf(path)}};
  if (IsText(bytes)) {
    contents["text"] = std::string(bytes);
  } else {
    contents["blob"] = absl::Base64Escape(bytes);
  }
  return contents;
}

Json ContentOf(absl::string_view uri, absl::string_view path, absl::string_view bytes) {
  const std::string type = MimeTypeOf(path);
  if (IsPicture(type)) {
    return {{"type", "image"}, {"data", absl::Base64Escape(bytes)}, {"mimeType", type}};
  }
  if (IsText(bytes)) return {{"type", "text"}, {"text", std::string(bytes)}};
  return {{"type", "resource"}, {"resource", ResourceContents(uri, path, bytes)}};
}

}  // namespace cubby::mcp
