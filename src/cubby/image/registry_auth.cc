#include "cubby/image/registry_auth.h"

#include <stdlib.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cubby/base/file.h"
#include "cubby/base/status_macros.h"
#include "cubby/base/subprocess.h"
#include "cubby/status.h"
#include "nlohmann/json.hpp"

namespace cubby {
namespace {

using nlohmann::json;

constexpr absl::Duration kHelperDeadline = absl::Seconds(30);
// Docker files its hub under this name.
constexpr char kDockerHubKey[] = "https://index.docker.io/v1/";

std::string ConfigPath() {
  if (const char* folder = getenv("DOCKER_CONFIG"); folder != nullptr && *folder != '\0') {
    return absl::StrCat(folder, "/config.json");
  }
  const char* home = getenv("HOME");
  return absl::StrCat(home != nullptr ? home : "", "/.docker/config.json");
}

std::string KeyFor(const std::string& registry) {
  return registry == "docker.io" ? kDockerHubKey : registry;
}

std::string GetString(const json& object, const std::string& key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

absl::StatusOr<Credentials> AskHelper(const std::string& helper, const std::string& key) {
  const char* path = getenv("PATH");
  const char* home = getenv("HOME");
  absl::StatusOr<CommandOutput> output =
      RunCommand({.argv = {absl::StrCat("docker-credential-", helper), "get"},
                  .environment = {absl::StrCat("PATH=", path != nullptr ? path : "/usr/bin:/bin"),
                                  absl::StrCat("HOME=", home != nullptr ? home : "/")}},
                 Deadline::After(kHelperDeadline), key);
  if (!output.ok()) {
    return Annotate(output.status(), absl::StrCat("credential helper ", helper, " for ", key));
  }
  if (!output->status.success()) return Credentials{};  // it knows none: anonymous
  const json object = json::parse(output->out, nullptr, false);
  if (!object.is_object()) {
    return absl::FailedPreconditionError(
        absl::StrCat("credential helper ", helper, ": its answer is not JSON"));
  }
  Credentials credentials{.user = GetString(object, "Username"),
                          .password = GetString(object, "Secret")};
  if (credentials.user == "<token>") {
    return Credentials{.identity_token = credentials.password};
  }
  return credentials;
}

}  // namespace

absl::StatusOr<Credentials> FindCredentials(const std::string& registry) {
  const std::string path = ConfigPath();
  absl::StatusOr<std::string> text = ReadSmallFile(path, 4 << 20);
  if (!text.ok()) return Credentials{};
  const json config = json::parse(*text, nullptr, false);
  if (!config.is_object()) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat(path, ": not a JSON object; mend or remove it"), {.path = path});
  }
  const std::string key = KeyFor(registry);
  if (auto helpers = config.find("credHelpers"); helpers != config.end() && helpers->is_object()) {
    if (const std::string helper = GetString(*helpers, registry); !helper.empty()) {
      return AskHelper(helper, key);
    }
  }
  if (const std::string store = GetString(config, "credsStore"); !store.empty()) {
    CUBBY_ASSIGN_OR_RETURN(Credentials credentials, AskHelper(store, key));
    if (!credentials.empty()) return credentials;
  }
  auto auths = config.find("auths");
  if (auths == config.end() || !auths->is_object()) return Credentials{};
  for (const std::string& name :
       {key, absl::StrCat("https://", key), absl::StrCat("http://", key)}) {
    auto entry = auths->find(name);
    if (entry == auths->end() || !entry->is_object()) continue;
    Credentials credentials{.user = GetString(*entry, "username"),
                            .password = GetString(*entry, "password"),
                            .identity_token = GetString(*entry, "identitytoken")};
    std::string decoded;
    if (absl::Base64Unescape(GetString(*entry, "auth"), &decoded)) {
      if (const size_t colon = decoded.find(':'); colon != std::string::npos) {
        credentials.user = decoded.substr(0, colon);
        credentials.password = decoded.substr(colon + 1);
      }
    }
    return credentials;
  }
  return Credentials{};
}

Challenge ParseChallenge(absl::string_view header) {
  Challenge challenge;
  header = absl::StripAsciiWhitespace(header);
  const size_t blank = header.find(' ');
  challenge.scheme = absl::AsciiStrToLower(header.substr(0, blank));
  if (blank == absl::string_view::npos) return challenge;
  header.remove_prefix(blank + 1);
  while (!header.empty()) {
    const size_t equals = header.find('=');
    if (equals == absl::string_view::npos) break;
    const std::string key =
        absl::AsciiStrToLower(absl::StripAsciiWhitespace(header.substr(0, equals)));
    header.remove_prefix(equals + 1);
    std::string value;
    if (absl::ConsumePrefix(&header, "\"")) {
      while (!header.empty() && header[0] != '"') {
        if (header[0] == '\\' && header.size() > 1) header.remove_prefix(1);
        value += header[0];
        header.remove_prefix(1);
      }
      absl::ConsumePrefix(&header, "\"");
    } else {
      const size_t comma = header.find(',');
      value = std::string(absl::StripAsciiWhitespace(header.substr(0, comma)));
      header.remove_prefix(comma == absl::string_view::npos ? header.size() : comma);
    }
    challenge.parameters[key] = value;
    header = absl::StripLeadingAsciiWhitespace(header);
    absl::ConsumePrefix(&header, ",");
    header = absl::StripLeadingAsciiWhitespace(header);
  }
  return challenge;
}

}  // namespace cubby
