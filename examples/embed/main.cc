// A program of its own that runs code in a sandbox: embed IMAGE
#include <cubby/provider.h>

#include <iostream>

namespace {

absl::Status Run(const std::string& image) {
  absl::StatusOr<std::unique_ptr<cubby::SandboxProvider>> provider =
      cubby::SandboxProvider::Open({});
  if (!provider.ok()) return provider.status();
  absl::StatusOr<cubby::Created> created = (*provider)->Create({.image = image});
  if (!created.ok()) return created.status();
  cubby::Sandbox& sandbox = *created->sandbox;
  for (const cubby::Stage& stage : created->stages) {
    std::cout << stage.name << " " << stage.duration << "\n";
  }
  absl::Status status = sandbox.WriteFile("numbers.txt", "3\n1\n2\n");
  if (status.ok()) {
    absl::StatusOr<cubby::ExecResult> sorted =
        sandbox.Execute(cubby::Command::Shell("sort numbers.txt | tee sorted.txt; exit 7"));
    status = sorted.status();
    if (sorted.ok()) std::cout << "exit " << sorted->exit_code << "\n" << sorted->out.bytes;
  }
  if (status.ok()) {
    absl::StatusOr<cubby::FileContent> file = sandbox.ReadText("sorted.txt", {.end_line = 1});
    status = file.status();
    if (file.ok()) std::cout << "first line: " << file->bytes;
  }
  status.Update((*provider)->Remove(sandbox.id()));
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const absl::Status status = Run(argc > 1 ? argv[1] : "cubby-base");
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
