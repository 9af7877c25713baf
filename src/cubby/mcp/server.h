// The Model Context Protocol over one pair of descriptors.
#ifndef CUBBY_MCP_SERVER_H_
#define CUBBY_MCP_SERVER_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cubby/mcp/json_rpc.h"
#include "cubby/mcp/line_io.h"

namespace cubby::mcp {

// A tool call under way. The client may cancel it, and may want to hear that it goes on.
class Call {
 public:
  // Runs `cancel` when the client cancels, or at once when it has. One at a time: the next replaces
  // it, an empty one takes it back. It may run on any thread, and has returned when
  // OnCancel(nullptr) does.
  void OnCancel(std::function<void()> cancel);
  void Cancel();
  [[nodiscard]] bool cancelled() const;

 private:
  mutable std::mutex mutex_;
  bool cancelled_ = false;
  std::function<void()> on_cancel_;
};

// What is offered. All functions may be called from several threads at once.
class Offer {
 public:
  virtual ~Offer() = default;
  // For people and models, sent at initialization.
  [[nodiscard]] virtual std::string Instructions() const = 0;
  // As in the answer to tools/list.
  [[nodiscard]] virtual Json Tools() const = 0;
  // As in the answer to tools/call. NOT_FOUND: no such tool; INVALID_ARGUMENT: wrong arguments.
  // What fails in the tool itself is a result with isError.
  virtual absl::StatusOr<Json> CallTool(const std::string& name, const Json& arguments,
                                        Call* call) = 0;
  // As in the answers to resources/list, resources/templates/list and resources/read (NOT_FOUND).
  virtual absl::StatusOr<Json> Resources() = 0;
  [[nodiscard]] virtual Json ResourceTemplates() const = 0;
  virtual absl::StatusOr<Json> ReadResource(const std::string& uri) = 0;
};

class Server {
 public:
  // `offer` is borrowed. `version` is the program's.
  Server(Offer* offer, std::string version);
  ~Server();

  // Serves a client until its input ends or `stop` is readable; then cancels what is under way and
  // waits for it.
  void Serve(int in, int out, int stop);

 private:
  struct Running {
    std::shared_ptr<Call> call;
    Json progress_token;  // null: none wanted
    absl::Duration started;
    int64_t reports = 0;
  };

  void Handle(const Message& message);
  void HandleRequest(const Message& message);
  [[nodiscard]] Json Initialize(const Json& params);
  void StartCall(const Message& message);
  void RunCall(const Json& id, const std::string& key, const std::string& name,
               const Json& arguments, Call* call);
  void CancelCall(const Json& params);
  void Send(const Json& message);
  void ReportProgress();

  Offer* const offer_;
  const std::string version_;
  LineWriter* writer_ = nullptr;  // while Serve runs

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Running> running_;  // by the request's id as JSON text
  int threads_ = 0;                         // of calls, those that have just answered included
  bool stopping_ = false;
};

}  // namespace cubby::mcp

#endif  // CUBBY_MCP_SERVER_H_
