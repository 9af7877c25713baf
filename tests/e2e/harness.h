// Runs the built `cubby` as its users do: a process with words, streams and an exit code.
//
// All tests share one state directory, whose images the fixture has made; each makes and removes
// its own sandboxes, so tests may run at the same time.
#ifndef CUBBY_TESTS_E2E_HARNESS_H_
#define CUBBY_TESTS_E2E_HARNESS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cubby/base/subprocess.h"
#include "cubby/base/unique_fd.h"
#include "nlohmann/json.hpp"

namespace cubby::e2e {

// In the state directory of the tests.
inline constexpr char kBase[] = "localhost/cubby-test/base:latest";        // Debian with python3
inline constexpr char kBusybox[] = "localhost/cubby-test/busybox:latest";  // a shell and its tools
inline constexpr char kBare[] = "localhost/cubby-test/bare:latest";        // /busybox, nothing else

const std::string& StateDir();

struct Outcome {
  int code = -1;  // 128 + signal, as a shell says it
  std::string out;
  std::string err;
  // Of `out`; discarded when it is no JSON.
  [[nodiscard]] nlohmann::json Json() const { return nlohmann::json::parse(out, nullptr, false); }
};

struct Options {
  std::string input;
  std::string state_dir = StateDir();
  absl::Duration deadline = absl::Seconds(60);
  size_t max_output_bytes = 64 << 20;
};

Outcome Cubby(const std::vector<std::string>& words, const Options& options = {});

// A shell command line of the host, in which $CUBBY is the program.
Outcome Shell(const std::string& script, const Options& options = {});

// A sandbox for one test.
class TestSandbox {
 public:
  explicit TestSandbox(const std::string& image = kBusybox,
                       const std::vector<std::string>& options = {},
                       const std::string& state_dir = StateDir());
  TestSandbox(const TestSandbox&) = delete;
  TestSandbox& operator=(const TestSandbox&) = delete;
  ~TestSandbox();

  [[nodiscard]] const std::string& id() const { return id_; }
  Outcome Exec(const std::vector<std::string>& command,
               const std::vector<std::string>& options = {}, const std::string& input = {});
  // With the sandbox's shell.
  Outcome Script(const std::string& script, const std::vector<std::string>& options = {});

 private:
  std::string state_dir_;
  std::string id_;
};

// A `cubby` that runs beside the test. Killed at the end of its life.
class Background {
 public:
  explicit Background(const std::vector<std::string>& words);
  ~Background();

  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  void Signal(int signal) { process_->Kill(signal); }
  void Write(absl::string_view bytes);
  // Waits until the output so far holds `text`; false when it ends or time passes before.
  bool AwaitOutput(const std::string& text, absl::Duration within = absl::Seconds(30));
  // The exit code, as Outcome has it; -1 when it does not end in time.
  int Wait(absl::Duration within = absl::Seconds(30));
  [[nodiscard]] const std::string& out() const { return out_; }

 private:
  std::optional<Subprocess> process_;
  unique_fd in_;
  unique_fd out_fd_;
  std::string out_;
};

// The ids that `cubby ps` shows with this label.
std::vector<std::string> SandboxesWithLabel(const std::string& key, const std::string& value);

// Polls until it is true; false when time passes before.
bool Eventually(const std::function<bool()>& condition, absl::Duration within = absl::Seconds(20));

}  // namespace cubby::e2e

#endif  // CUBBY_TESTS_E2E_HARNESS_H_
