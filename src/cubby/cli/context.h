// What a verb gets: the words of the command, the descriptors, and the way to the engine.
#ifndef CUBBY_CLI_CONTEXT_H_
#define CUBBY_CLI_CONTEXT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cubby/image/store.h"
#include "cubby/provider.h"

namespace cubby::cli {

// The options of every command.
struct GlobalOptions {
  std::string state_dir;
  std::string runtime;
  std::string agent;
  bool json = false;
  bool verbose = false;
};

// cubby's own failures, apart from every code that a command would choose for itself.
inline constexpr int kTimedOut = 124;
inline constexpr int kOwnFailure = 125;
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;

class Context {
 public:
  // How to get to the engine; tests give fakes.
  struct Engine {
    std::function<absl::StatusOr<std::unique_ptr<SandboxProvider>>(const GlobalOptions&)> provider;
    std::function<absl::StatusOr<std::unique_ptr<ImageStore>>(const GlobalOptions&)> images;
  };
  struct Descriptors {
    int in = 0;
    int out = 1;
    int err = 2;
  };

  Context(Engine engine, Descriptors descriptors)
      : engine_(std::move(engine)), descriptors_(descriptors) {}

  GlobalOptions global;
  std::vector<std::string> command;  // what is to be run

  [[nodiscard]] int in() const { return descriptors_.in; }
  [[nodiscard]] int out() const { return descriptors_.out; }
  [[nodiscard]] int err() const { return descriptors_.err; }

  // Opened at the first use.
  absl::StatusOr<SandboxProvider*> Provider();
  absl::StatusOr<ImageStore*> Images();

  // The whole id for an id or an unambiguous beginning of one.
  absl::StatusOr<std::string> ResolveId(absl::string_view prefix);
  absl::StatusOr<std::shared_ptr<Sandbox>> FindSandbox(absl::string_view prefix);

  // To standard output.
  [[nodiscard]] absl::Status Print(absl::string_view text) const;
  // One line on standard error, "cubby: ...".
  void Say(absl::string_view line) const;
  // The same with -v only.
  void SayVerbosely(absl::string_view line) const;
  // An error: the line, or JSON on standard output under --json.
  void Report(const absl::Status& status) const;

 private:
  Engine engine_;
  Descriptors descriptors_;
  std::unique_ptr<SandboxProvider> provider_;
  std::unique_ptr<ImageStore> images_;
};

}  // namespace cubby::cli

#endif  // CUBBY_CLI_CONTEXT_H_
