#include "cubby/cli/testing/run.h"

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <memory>

#include "cubby/base/file.h"
#include "cubby/base/unique_fd.h"
#include "cubby/cli/command_line.h"

namespace cubby::cli::testing {
namespace {

class BorrowedProvider : public SandboxProvider {
 public:
  explicit BorrowedProvider(FakeProvider& fake) : fake_(fake) {}
  absl::StatusOr<Created> Create(const SandboxSpec& spec) override { return fake_.Create(spec); }
  absl::StatusOr<std::shared_ptr<Sandbox>> Get(const std::string& id) override {
    return fake_.Get(id);
  }
  absl::StatusOr<std::vector<SandboxInfo>> List() override { return fake_.List(); }
  absl::Status Remove(const std::string& id) override { return fake_.Remove(id); }
  absl::StatusOr<std::string> ConsoleLog(const std::string& id) override {
    return fake_.ConsoleLog(id);
  }

 private:
  FakeProvider& fake_;
};

class BorrowedImages : public ImageStore {
 public:
  explicit BorrowedImages(FakeImages& fake) : fake_(fake) {}
  absl::StatusOr<ImageInfo> Pull(const std::string& reference, const PullOptions& o) override {
    return fake_.Pull(reference, o);
  }
  absl::StatusOr<ImageInfo> Import(const std::string& p, const std::string& r) override {
    return fake_.Import(p, r);
  }
  absl::Status Export(const std::string& r, const std::string& p, ExportFormat f) override {
    return fake_.Export(r, p, f);
  }
  absl::StatusOr<std::vector<ImageInfo>> List() override { return fake_.List(); }
  absl::StatusOr<ImageInfo> Inspect(const std::string& r) override { return fake_.Inspect(r); }
  absl::Status Remove(const std::string& r) override { return fake_.Remove(r); }
  absl::StatusOr<int64_t> Prune(const std::vector<std::string>& l) override {
    return fake_.Prune(l);
  }
  absl::StatusOr<ImageInfo> BuildBase(const BaseImageOptions& o) override {
    return fake_.BuildBase(o);
  }
  absl::StatusOr<ImageRootfs> Rootfs(const std::string& r) override { return fake_.Rootfs(r); }

 private:
  FakeImages& fake_;
};

}  // namespace

std::string ContentOf(int fd) {
  std::string content(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(fd, content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
  return content;
}

Outcome RunWith(const Context::Engine& engine, const std::vector<std::string>& words, int in,
                int out) {
  const unique_fd err(memfd_create("err", MFD_CLOEXEC));
  Outcome outcome;
  outcome.code = CommandLine().Run(words, engine, {.in = in, .out = out, .err = err.get()});
  outcome.err = ContentOf(err.get());
  return outcome;
}

Outcome Run(const Context::Engine& engine, const std::vector<std::string>& words,
            const std::string& input) {
  const unique_fd in(memfd_create("in", MFD_CLOEXEC));
  EXPECT_TRUE(WriteAll(in.get(), input).ok());
  lseek(in.get(), 0, SEEK_SET);
  const unique_fd out(memfd_create("out", MFD_CLOEXEC));
  Outcome outcome = RunWith(engine, words, in.get(), out.get());
  outcome.out = ContentOf(out.get());
  return outcome;
}

Context::Engine EngineOf(FakeProvider& provider, FakeImages& images) {
  return {
      .provider =
          [&provider](const GlobalOptions&) -> absl::StatusOr<std::unique_ptr<SandboxProvider>> {
        return std::make_unique<BorrowedProvider>(provider);
      },
      .images = [&images](const GlobalOptions&) -> absl::StatusOr<std::unique_ptr<ImageStore>> {
        return std::make_unique<BorrowedImages>(images);
      }};
}

}  // namespace cubby::cli::testing
