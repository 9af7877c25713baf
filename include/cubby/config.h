// The settings of an installation: the `sandbox:` section of cubby.yaml.
//
//   absl::StatusOr<cubby::Config> config = cubby::LoadConfig({});
//   if (!config.ok()) std::cerr << config.status().message();  // cubby.yaml:12: sandbox.port: ...
//
// docs/configuration.md lists every key, its default and what it allows. A Config is made whole:
// every field is checked, and a field that the file leaves out has the default of the backend in
// use. Config{} is what a file without any setting gives.
#ifndef CUBBY_CONFIG_H_
#define CUBBY_CONFIG_H_

#include <stdint.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cubby/provider.h"

namespace cubby {

// A password or key. It has no way into a stream, a format or a string but Reveal(), so that what
// prints one must say so.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}

  [[nodiscard]] const std::string& Reveal() const { return value_; }
  [[nodiscard]] bool empty() const { return value_.empty(); }

 private:
  std::string value_;
};

// kAuto: the best that works on this host.
enum class BackendKind { kAuto, kContainer, kMicrovm, kDocker, kTenki, kE2b, kLocal };

// What an acquire does when `replicas` sandboxes exist and none is idle.
enum class OverflowPolicy {
  kBurst,   // makes one more and warns
  kWait,    // waits up to acquire_timeout for one to be let go
  kReject,  // fails with RESOURCE_EXHAUSTED
};

// Where it is written which process owns a sandbox.
enum class OwnershipStore { kMemory, kRedis };

// An empty text or an empty optional means: not set, the backend decides.
struct Config {
  std::string file;  // what it was read from; empty: defaults

  BackendKind use = BackendKind::kAuto;
  bool allow_host_bash = false;                    // of the local backend
  std::string image;                               // an OCI reference
  std::map<std::string, std::string> environment;  // of every command; never log the values
  std::vector<Mount> mounts;
  std::optional<bool> thread_data_mounts;
  std::string home_dir;

  int64_t replicas = 3;  // active and warm
  OverflowPolicy overflow_policy = OverflowPolicy::kBurst;
  absl::Duration acquire_timeout = absl::Seconds(30);
  int64_t burst_limit = 0;                           // sandboxes above `replicas`; 0: no bound
  absl::Duration idle_timeout = absl::Seconds(600);  // of a warm sandbox; 0: never
  absl::Duration health_check_skip = absl::ZeroDuration();

  absl::Duration command_timeout = absl::Seconds(600);
  int64_t bash_output_max_chars = 20000;       // 0: whole
  int64_t read_file_output_max_chars = 50000;  // 0: whole
  int64_t ls_output_max_chars = 20000;         // 0: whole

  std::optional<int64_t> memory_mib;  // of a micro-VM or container
  std::optional<double> cpus;

  OwnershipStore ownership_type = OwnershipStore::kMemory;
  Secret ownership_redis_url;  // it may hold a password
  absl::Duration ownership_renewal_interval = absl::Seconds(30);
  double ownership_ttl_multiplier = 4;
  std::string ownership_key_prefix = "deerflow:sandbox:owner";

  std::string container_prefix = "cubby";
  int64_t port = 8080;
  std::string provisioner_url;
  Secret provisioner_api_key;

  Secret api_key;  // of the cloud in use
  std::string base_url;
  std::string project_id;
  std::string workspace_id;
  std::optional<int64_t> cpu_cores;
  std::optional<int64_t> memory_mb;
  absl::Duration max_duration = absl::Seconds(14400);
  bool sticky = false;
  std::string cloud_template = "code-interpreter-v1";
  std::string domain;

  absl::Duration reconciliation_interval = absl::Seconds(60);
  absl::Duration reconciliation_grace = absl::Seconds(120);
  absl::Duration reconciliation_orphan_ttl = absl::Seconds(3600);
  int64_t reconciliation_max_pages = 10;
  int64_t reconciliation_max_items = 200;
  absl::Duration reconciliation_max_time = absl::Seconds(15);
};

struct ConfigOptions {
  // The file; it must be there. Empty: $CUBBY_CONFIG (it must be there too), else cubby.yaml in
  // `working_directory`, else cubby.yaml in `state_dir`, else defaults.
  std::string path;
  std::string working_directory;  // empty: the process's
  std::string state_dir;          // empty: as in ProviderOptions
  // Laid over the file, as in {"replicas", "5"}, with the same checks. "$NAME" is no reference
  // here.
  std::vector<std::pair<std::string, std::string>> overrides;
  // Where variables are looked up; unset: the process's environment.
  std::function<std::optional<std::string>(const std::string& name)> environment;
};

// INVALID_ARGUMENT: every bad value, a line each, such as
//   cubby.yaml:12: sandbox.overflow_policy: "foo": must be one of burst, wait, reject
// NOT_FOUND: a file that was asked for is missing. RESOURCE_EXHAUSTED: it is above 1 MiB.
// Keys that are not known are ignored, and one warning lists them all.
absl::StatusOr<Config> LoadConfig(const ConfigOptions& options);

// What the settings' own words are, for messages and records.
const char* BackendName(BackendKind kind);

}  // namespace cubby

#endif  // CUBBY_CONFIG_H_
