// What one client is offered: the tools on sandboxes of its own, and the files that they leave.
#ifndef CUBBY_MCP_SESSION_H_
#define CUBBY_MCP_SESSION_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cubby/base/host_tree.h"
#include "cubby/mcp/server.h"
#include "cubby/provider.h"
#include "cubby/tools/toolbox.h"

namespace cubby::mcp {

struct SessionOptions {
  SandboxProvider* provider = nullptr;  // borrowed
  SandboxSpec spec;                     // of the sandboxes that the session makes
  // Gets an image that is not in the store; unset: nothing is fetched.
  std::function<absl::Status(const std::string& image)> ensure_image;
  // Used in place of one that the session makes, and left alone at its end.
  std::string sandbox_id;
  // Folders of this host from which files may be uploaded, and to which they may be downloaded.
  std::vector<std::string> shared_folders;
  tools::ToolSettings settings;
};

// The first call that needs one makes the session's own sandbox; a client may make more. It reaches
// these and no others. All functions may be called from several threads.
class Session : public Offer {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Open(SessionOptions options);
  ~Session() override;

  // Removes the sandboxes that the session made. The first failure is returned, after all were
  // tried.
  absl::Status Close();

  [[nodiscard]] std::string Instructions() const override;
  [[nodiscard]] Json Tools() const override;
  absl::StatusOr<Json> CallTool(const std::string& name, const Json& arguments,
                                Call* call) override;
  absl::StatusOr<Json> Resources() override;
  [[nodiscard]] Json ResourceTemplates() const override;
  absl::StatusOr<Json> ReadResource(const std::string& uri) override;

 private:
  struct SharedFolder {
    std::string path;
    HostTree tree;
  };
  // A file of this host, below a shared folder.
  struct HostFile {
    const HostTree* tree;
    std::string path;
  };

  explicit Session(SessionOptions options) : options_(std::move(options)) {}

  void DeclareTools();
  // The one with this id; for an empty one the session's own, which is made when it is not there.
  absl::StatusOr<std::shared_ptr<Sandbox>> Find(const std::string& id);
  absl::StatusOr<std::shared_ptr<Sandbox>> Make(const std::string& image);
  // Forgets and removes a sandbox that has died; true when it had.
  bool DropDead(Sandbox& sandbox);

  absl::StatusOr<tools::ToolResult> RunTool(const tools::Tool& tool, const Json& arguments,
                                            Call* call);
  absl::StatusOr<tools::ToolResult> CreateSandbox(const Json& arguments);
  tools::ToolResult ListSandboxes();
  absl::StatusOr<tools::ToolResult> DestroySandbox(const Json& arguments);
  absl::StatusOr<tools::ToolResult> Upload(Sandbox& sandbox, const Json& arguments);
  absl::StatusOr<Json> Download(Sandbox& sandbox, const Json& arguments);
  absl::StatusOr<HostFile> FindShared(const std::string& path) const;

  const SessionOptions options_;
  std::vector<tools::Tool> tools_;  // as declared; what runs is decided by name
  std::vector<SharedFolder> shared_;
  tools::FileLocks locks_;

  std::mutex making_;  // held while the session's own sandbox is made, so that there is one
  std::mutex mutex_;
  std::string own_;
  std::map<std::string, std::shared_ptr<Sandbox>> sandboxes_;
};

}  // namespace cubby::mcp

#endif  // CUBBY_MCP_SESSION_H_
