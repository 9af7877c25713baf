// The table. What it says is what the loader does and what the page shows.
#include "cubby/config/setting.h"

namespace cubby::config {
namespace {

constexpr BackendKind kAny = BackendKind::kAuto;
constexpr BackendKind kContainer = BackendKind::kContainer;
constexpr BackendKind kMicrovm = BackendKind::kMicrovm;
constexpr BackendKind kDocker = BackendKind::kDocker;
constexpr BackendKind kTenki = BackendKind::kTenki;
constexpr BackendKind kE2b = BackendKind::kE2b;
constexpr BackendKind kLocal = BackendKind::kLocal;

std::vector<Setting> General() {
  return {
      {.key = "use",
       .field = &Config::use,
       .fallback = "auto",
       .help = "what sandboxes are made of; auto takes the best that works on this host"},
      {.key = "allow_host_bash",
       .field = &Config::allow_host_bash,
       .fallback = "false",
       .backends = {kLocal},
       .help = "let commands run on this host, which is no isolation at all"},
      {.key = "image",
       .field = &Config::image,
       .fallbacks = {{kMicrovm, "python:3.12-slim"}},
       .backends = {kContainer, kMicrovm, kDocker, kTenki, kE2b},
       .help = "the image of new sandboxes: an OCI reference, or the cloud's own name"},
      {.key = "environment",
       .field = &Config::environment,
       .help = "variables of every command, each value a text; the values are never logged"},
      {.key = "mounts",
       .field = &Config::mounts,
       .help = "folders of this host that sandboxes see; a cloud gets a copy of them"},
      {.key = "thread_data_mounts",
       .field = &Config::thread_data_mounts,
       .backends = {kContainer, kDocker},
       .help =
           "say that sandboxes share the caller's storage of user data, instead of finding out"},
      {.key = "home_dir",
       .field = &Config::home_dir,
       .fallbacks = {{kTenki, "/home/tenki"}, {kE2b, "/home/user"}},
       .rule = TextRule::kAbsolutePath,
       .backends = {kTenki, kE2b},
       .help = "where /mnt/user-data is put on machines that have no writable /mnt"},
  };
}

std::vector<Setting> Capacity() {
  return {
      {.key = "replicas",
       .field = &Config::replicas,
       .fallback = "3",
       .range = {.at_least = 1},
       .unit = "sandboxes",
       .help = "how many there may be, active and warm together, before overflow_policy decides"},
      {.key = "overflow_policy",
       .field = &Config::overflow_policy,
       .fallback = "burst",
       .fallbacks = {{kE2b, "wait"}},
       .help = "at `replicas`, with none idle: make one more and warn, wait up to acquire_timeout, "
               "or fail"},
      {.key = "acquire_timeout",
       .field = &Config::acquire_timeout,
       .fallback = "30",
       .range = {.above = 0},
       .unit = "seconds",
       .help = "how long `overflow_policy: wait` waits"},
      {.key = "burst_limit",
       .field = &Config::burst_limit,
       .fallback = "0",
       .range = {.at_least = 0},
       .unit = "sandboxes",
       .help = "how many above `replicas` `overflow_policy: burst` makes; 0: no bound, and with "
               "e2b none"},
      {.key = "idle_timeout",
       .field = &Config::idle_timeout,
       .fallback = "600",
       .fallbacks = {{kE2b, "1800"}},
       .range = {.at_least = 0},
       .unit = "seconds",
       .help = "how long a sandbox stays warm; 0: for ever. With e2b at most 86400"},
      {.key = "health_check_skip_seconds",
       .field = &Config::health_check_skip,
       .fallback = "0",
       .range = {.at_least = 0},
       .digits = Digits::kFraction,
       .unit = "seconds",
       .help = "a sandbox that was used this recently is handed out without asking if it is well"},
  };
}

std::vector<Setting> Commands() {
  return {
      {.key = "command_timeout",
       .field = &Config::command_timeout,
       .fallback = "600",
       .range = {.above = 0},
       .unit = "seconds",
       .other_key = "bash_command_timeout",
       .help = "the deadline of a command that comes without one"},
      {.key = "bash_output_max_chars",
       .field = &Config::bash_output_max_chars,
       .fallback = "20000",
       .range = {.at_least = 0},
       .unit = "characters",
       .help = "where the bash tool cuts its output; 0: never"},
      {.key = "read_file_output_max_chars",
       .field = &Config::read_file_output_max_chars,
       .fallback = "50000",
       .range = {.at_least = 0},
       .unit = "characters",
       .help = "where the read_file tool cuts its output; 0: never"},
      {.key = "ls_output_max_chars",
       .field = &Config::ls_output_max_chars,
       .fallback = "20000",
       .range = {.at_least = 0},
       .unit = "characters",
       .help = "where the ls tool cuts its output; 0: never"},
      {.key = "memory_mib",
       .field = &Config::memory_mib,
       .range = {.at_least = 16},
       .unit = "MiB",
       .backends = {kContainer, kMicrovm, kDocker},
       .help = "memory of a sandbox"},
      {.key = "cpus",
       .field = &Config::cpus,
       .range = {.above = 0},
       .backends = {kContainer, kMicrovm, kDocker},
       .help = "processors of a sandbox"},
  };
}

std::vector<Setting> Ownership() {
  return {
      {.key = "ownership.type",
       .field = &Config::ownership_type,
       .fallback = "memory",
       .help = "where processes on several hosts agree on who owns a sandbox"},
      {.key = "ownership.redis_url",
       .field = &Config::ownership_redis_url,
       .fallback = "redis://localhost:6379/0",
       .variables = {{kAny, "DEER_FLOW_SANDBOX_OWNERSHIP_REDIS_URL"},
                     {kAny, "DEER_FLOW_STREAM_BRIDGE_REDIS_URL"},
                     {kAny, "REDIS_URL"}},
       .rule = TextRule::kRedisUrl,
       .help = "the server of `ownership.type: redis`"},
      {.key = "ownership.renewal_interval_seconds",
       .field = &Config::ownership_renewal_interval,
       .fallback = "30",
       .range = {.above = 0},
       .digits = Digits::kFraction,
       .unit = "seconds",
       .help = "how often a lease is renewed"},
      {.key = "ownership.ttl_multiplier",
       .field = &Config::ownership_ttl_multiplier,
       .fallback = "4",
       .range = {.at_least = 2},
       .help = "how many renewals may fail before a lease is lost"},
      {.key = "ownership.key_prefix",
       .field = &Config::ownership_key_prefix,
       .fallback = "deerflow:sandbox:owner",
       .help = "what the names of leases begin with; a colon at its end is dropped"},
  };
}

std::vector<Setting> ContainersElsewhere() {
  return {
      {.key = "container_prefix",
       .field = &Config::container_prefix,
       .fallback = "cubby",
       .rule = TextRule::kContainerName,
       .backends = {kDocker},
       .help = "what the names of containers begin with"},
      {.key = "port",
       .field = &Config::port,
       .fallback = "8080",
       .range = {.at_least = 1, .at_most = 65535},
       .backends = {kDocker},
       .help = "the first port that is tried for a container's server"},
      {.key = "provisioner_url",
       .field = &Config::provisioner_url,
       .rule = TextRule::kHttpUrl,
       .backends = {kDocker},
       .help = "a server that makes sandboxes in a cluster"},
      {.key = "provisioner_api_key",
       .field = &Config::provisioner_api_key,
       .backends = {kDocker},
       .help = "its key"},
  };
}

std::vector<Setting> Clouds() {
  return {
      {.key = "api_key",
       .field = &Config::api_key,
       .variables = {{kTenki, "TENKI_API_KEY"},
                     {kTenki, "TENKI_AUTH_TOKEN"},
                     {kE2b, "E2B_API_KEY"}},
       .backends = {kTenki, kE2b},
       .help = "the cloud's key"},
      {.key = "base_url",
       .field = &Config::base_url,
       .rule = TextRule::kHttpUrl,
       .backends = {kTenki},
       .help = "the cloud's address, if not its usual one"},
      {.key = "project_id",
       .field = &Config::project_id,
       .backends = {kTenki},
       .help = "the project that sandboxes belong to"},
      {.key = "workspace_id",
       .field = &Config::workspace_id,
       .backends = {kTenki},
       .help = "the workspace that sandboxes belong to"},
      {.key = "cpu_cores",
       .field = &Config::cpu_cores,
       .range = {.at_least = 1},
       .backends = {kTenki},
       .help = "processors of a sandbox"},
      {.key = "memory_mb",
       .field = &Config::memory_mb,
       .range = {.at_least = 1},
       .unit = "MB",
       .backends = {kTenki},
       .help = "memory of a sandbox"},
      {.key = "max_duration",
       .field = &Config::max_duration,
       .fallback = "14400",
       .range = {.above = 0},
       .unit = "seconds",
       .backends = {kTenki},
       .help = "after which the cloud ends a sandbox, whatever happens"},
      {.key = "sticky",
       .field = &Config::sticky,
       .fallback = "false",
       .backends = {kTenki},
       .help = "keep a sandbox on the machine that it was on"},
      {.key = "template",
       .field = &Config::cloud_template,
       .fallback = "code-interpreter-v1",
       .backends = {kE2b},
       .help = "what sandboxes are made from; `image` where only that is given"},
      {.key = "domain",
       .field = &Config::domain,
       .backends = {kE2b},
       .help = "the cloud's domain, if not its usual one"},
  };
}

std::vector<Setting> Reconciliation() {
  return {
      {.key = "reconciliation_interval_seconds",
       .field = &Config::reconciliation_interval,
       .fallback = "60",
       .range = {.floor = 1},
       .digits = Digits::kFraction,
       .unit = "seconds",
       .backends = {kE2b},
       .help = "how often the cloud is asked for sandboxes that nobody owns"},
      {.key = "reconciliation_grace_seconds",
       .field = &Config::reconciliation_grace,
       .fallback = "120",
       .range = {.floor = 0},
       .digits = Digits::kFraction,
       .unit = "seconds",
       .backends = {kE2b},
       .help = "how old such a sandbox must be to be looked at"},
      {.key = "reconciliation_orphan_ttl_seconds",
       .field = &Config::reconciliation_orphan_ttl,
       .fallback = "3600",
       .range = {.floor = 0},
       .digits = Digits::kFraction,
       .unit = "seconds",
       .backends = {kE2b},
       .help = "how long it may stay"},
      {.key = "reconciliation_max_pages",
       .field = &Config::reconciliation_max_pages,
       .fallback = "10",
       .range = {.floor = 1},
       .unit = "pages",
       .backends = {kE2b},
       .help = "what one round may fetch"},
      {.key = "reconciliation_max_items",
       .field = &Config::reconciliation_max_items,
       .fallback = "200",
       .range = {.floor = 1},
       .unit = "sandboxes",
       .backends = {kE2b},
       .help = "what one round may look at"},
      {.key = "reconciliation_max_seconds",
       .field = &Config::reconciliation_max_time,
       .fallback = "15",
       .range = {.floor = 0.1},
       .digits = Digits::kFraction,
       .unit = "seconds",
       .backends = {kE2b},
       .help = "how long one round may take"},
  };
}

}  // namespace

const std::vector<Setting>& Settings() {
  static const std::vector<Setting>& settings = *[] {
    auto* all = new std::vector<Setting>;
    for (auto* group :
         {General, Capacity, Commands, Ownership, ContainersElsewhere, Clouds, Reconciliation}) {
      const std::vector<Setting> rows = group();
      all->insert(all->end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return settings;
}

const std::vector<MountSetting>& MountSettings() {
  static const auto& settings = *new std::vector<MountSetting>{
      {"host_path", &Mount::host_path, true,
       "the folder on this host; it must exist by the time "
       "that a sandbox is made"},
      {"container_path", &Mount::guest_path, true,
       "where sandboxes see it; a slash at its end is "
       "dropped, and of two the first counts"},
      {"read_only", &Mount::access, false, "whether sandboxes may not write there"},
  };
  return settings;
}

const Words<BackendKind>& WordsOf(BackendKind) {
  static const auto& words = *new Words<BackendKind>{{"auto", BackendKind::kAuto},
                                                     {"container", kContainer},
                                                     {"microvm", kMicrovm},
                                                     {"docker", kDocker},
                                                     {"tenki", kTenki},
                                                     {"e2b", kE2b},
                                                     {"local", kLocal}};
  return words;
}

const Words<OverflowPolicy>& WordsOf(OverflowPolicy) {
  static const auto& words = *new Words<OverflowPolicy>{{"burst", OverflowPolicy::kBurst},
                                                        {"wait", OverflowPolicy::kWait},
                                                        {"reject", OverflowPolicy::kReject}};
  return words;
}

const Words<OwnershipStore>& WordsOf(OwnershipStore) {
  static const auto& words = *new Words<OwnershipStore>{{"memory", OwnershipStore::kMemory},
                                                        {"redis", OwnershipStore::kRedis}};
  return words;
}

const Words<BackendKind>& ReferenceModules() {
  static const auto& modules = *new Words<BackendKind>{{"sandbox.local", kLocal},
                                                       {"community.aio_sandbox", kContainer},
                                                       {"community.boxlite", kMicrovm},
                                                       {"community.tenki", kTenki},
                                                       {"community.e2b_sandbox", kE2b}};
  return modules;
}

}  // namespace cubby::config
