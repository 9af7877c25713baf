// The agent's end of a connection for tests of the client: answers requests as their names say, and
// can be told to misbehave.
#ifndef CUBBY_WIRE_TESTING_ECHO_SERVER_H_
#define CUBBY_WIRE_TESTING_ECHO_SERVER_H_

#include <stdint.h>

#include <map>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"
#include "cubby/base/unique_fd.h"
#include "cubby/wire/server_session.h"

namespace cubby::wire {

// ReadFile{length: N}  sends N bytes as credit allows, then ends OK.
// WriteFile            grants credit for all data, sends the number of bytes as ReadDone.lines,
// ends. Stat                 ends at once with NOT_FOUND. MakeDir              never answers.
class EchoServer : private ServerSession::Handler {
 public:
  // Serves the peer of the returned descriptor on a thread of its own.
  explicit EchoServer(unique_fd* client);
  ~EchoServer() override;

  // Sends these bytes as they are, outside of the protocol.
  void SendRaw(absl::string_view bytes);
  // Why the connection ended, as this end saw it; valid after the client is closed.
  absl::Status Join();

 private:
  struct Stream {
    uint64_t to_send = 0;
    uint64_t received = 0;
    bool is_write = false;
  };
  void OnOpen(uint32_t id, Request request, ServerSession::Input input) override;
  void OnControl(uint32_t, const Control&) override {}
  void OnData(uint32_t id, absl::string_view bytes) override;
  void OnFin(uint32_t id) override;
  void OnCredit(uint32_t id) override { Pump(id); }
  void OnCancel(uint32_t id) override { streams_.erase(id); }
  void Write(absl::string_view header, absl::string_view payload) override;
  void Pump(uint32_t id);
  void Serve();

  unique_fd fd_;
  ServerSession session_;
  std::map<uint32_t, Stream> streams_;
  absl::Status ended_;
  std::thread thread_;
};

}  // namespace cubby::wire

#endif  // CUBBY_WIRE_TESTING_ECHO_SERVER_H_
