#include "harness.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "cubby/base/file.h"

namespace cubby::e2e {
namespace {

std::vector<std::string> Environment(const std::string& state_dir) {
  return {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8",
          absl::StrCat("CUBBY_STATE_DIR=", state_dir), absl::StrCat("CUBBY=", CUBBY_PROGRAM)};
}

Outcome ToOutcome(absl::StatusOr<CommandOutput> output) {
  if (!output.ok()) {
    ADD_FAILURE() << output.status();
    return {};
  }
  return {.code = output->status.signal != 0 ? 128 + output->status.signal : output->status.code,
          .out = std::move(output->out),
          .err = std::move(output->err)};
}

}  // namespace

const std::string& StateDir() {
  static const std::string& directory = *new std::string(CUBBY_TEST_STATE);
  return directory;
}

Outcome Cubby(const std::vector<std::string>& words, const Options& options) {
  std::vector<std::string> argv = {CUBBY_PROGRAM};
  argv.insert(argv.end(), words.begin(), words.end());
  return ToOutcome(RunCommand({.argv = argv, .environment = Environment(options.state_dir)},
                              Deadline::After(options.deadline), options.input,
                              options.max_output_bytes));
}

Outcome Shell(const std::string& script, const Options& options) {
  return ToOutcome(
      RunCommand({.argv = {"bash", "-c", script}, .environment = Environment(options.state_dir)},
                 Deadline::After(options.deadline), options.input, options.max_output_bytes));
}

TestSandbox::TestSandbox(const std::string& image, const std::vector<std::string>& options,
                         const std::string& state_dir)
    : state_dir_(state_dir) {
  std::vector<std::string> words = {"create", "--image", image, "--pull", "never"};
  words.insert(words.end(), options.begin(), options.end());
  const Outcome created = Cubby(words, {.state_dir = state_dir_});
  EXPECT_EQ(created.code, 0) << created.err;
  id_ = std::string(absl::StripSuffix(created.out, "\n"));
  EXPECT_EQ(id_.size(), 16U) << created.out;
}

TestSandbox::~TestSandbox() {
  const Outcome removed = Cubby({"rm", id_}, {.state_dir = state_dir_});
  EXPECT_EQ(removed.code, 0) << removed.err;
}

Outcome TestSandbox::Exec(const std::vector<std::string>& command,
                          const std::vector<std::string>& options, const std::string& input) {
  std::vector<std::string> words = {"exec"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back(id_);
  words.push_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return Cubby(words, {.input = input, .state_dir = state_dir_});
}

Outcome TestSandbox::Script(const std::string& script, const std::vector<std::string>& options) {
  return Exec({"sh", "-c", script}, options);
}

Background::Background(const std::vector<std::string>& words) {
  int in[2];
  int out[2];
  EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
  const unique_fd child_in(in[0]);
  const unique_fd child_out(out[1]);
  in_.reset(in[1]);
  out_fd_.reset(out[0]);
  std::vector<std::string> argv = {CUBBY_PROGRAM};
  argv.insert(argv.end(), words.begin(), words.end());
  auto process = Subprocess::Spawn({.argv = argv,
                                    .environment = Environment(StateDir()),
                                    .descriptors = {{child_in.get(), 0}, {child_out.get(), 1}}});
  EXPECT_TRUE(process.ok()) << process.status();
  process_.emplace(*std::move(process));
}

Background::~Background() = default;

void Background::Write(absl::string_view bytes) { EXPECT_TRUE(WriteAll(in_.get(), bytes).ok()); }

bool Background::AwaitOutput(const std::string& text, absl::Duration within) {
  const Deadline deadline = Deadline::After(within);
  while (out_.find(text) == std::string::npos) {
    pollfd readable{.fd = out_fd_.get(), .events = POLLIN};
    if (poll(&readable, 1, deadline.PollTimeoutMs()) <= 0) return false;
    char piece[65536];
    const ssize_t got = read(out_fd_.get(), piece, sizeof(piece));
    if (got <= 0) return false;
    out_.append(piece, static_cast<size_t>(got));
  }
  return true;
}

int Background::Wait(absl::Duration within) {
  const absl::StatusOr<ExitStatus> ended = process_->Wait(Deadline::After(within));
  if (!ended.ok()) return -1;
  return ended->signal != 0 ? 128 + ended->signal : ended->code;
}

std::vector<std::string> SandboxesWithLabel(const std::string& key, const std::string& value) {
  const Outcome outcome = Cubby({"ps", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::vector<std::string> ids;
  const nlohmann::json sandboxes = outcome.Json();
  if (!sandboxes.is_array()) return ids;
  for (const auto& sandbox : sandboxes) {
    if (sandbox["labels"].value(key, "") == value) ids.push_back(sandbox["id"]);
  }
  return ids;
}

bool Eventually(const std::function<bool()>& condition, absl::Duration within) {
  const Deadline deadline = Deadline::After(within);
  while (!condition()) {
    if (deadline.Expired()) return false;
    absl::SleepFor(absl::Milliseconds(20));
  }
  return true;
}

}  // namespace cubby::e2e
