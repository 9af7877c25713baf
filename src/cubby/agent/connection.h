// One connection of a client, and the streams on it.
#ifndef CUBBY_AGENT_CONNECTION_H_
#define CUBBY_AGENT_CONNECTION_H_

#include <stdint.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cubby/agent/event_loop.h"
#include "cubby/base/unique_fd.h"
#include "cubby/wire/server_session.h"

namespace cubby::agent {

class Connection;

// A request under way. Its coroutine owns it; the connection feeds it.
class Stream {
 public:
  Stream(EventLoop* loop, std::shared_ptr<Connection> connection, uint32_t id);
  ~Stream();

  Waker waker;

  // OK while the client is there and the deadline has not passed.
  [[nodiscard]] const absl::Status& status() const { return status_; }
  [[nodiscard]] bool open() const { return status_.ok(); }

  // How many bytes may be sent now: neither more than the client has room for, nor so many that
  // they pile up here.
  [[nodiscard]] int64_t Credit() const;
  void SendEvent(const wire::Event& event);
  void SendData(int channel, absl::string_view bytes);

  // What the client has sent and nobody has taken. Consume tells the client that there is room.
  [[nodiscard]] absl::string_view input() const {
    return absl::string_view(input_).substr(consumed_);
  }
  void Consume(size_t bytes);
  // Lets the client have `bytes` more under way: a bulk transfer should not wait for each answer.
  void WidenInput(uint32_t bytes);
  [[nodiscard]] bool input_ended() const { return fin_ && input().empty(); }

  // From now on what the client sends goes to `take` at once, and is not gathered: a bulk transfer
  // is copied once less. Takes nullptr to gather again. `take` must not end the stream.
  void TakeDirectly(std::function<void(absl::string_view)> take) { take_ = std::move(take); }

  // The next control message, in order.
  bool NextControl(wire::Control* control);

  // Ends the stream for the client. The coroutine calls it last.
  void End(const absl::Status& status);

 private:
  friend class Connection;
  void Close(absl::Status why);
  void Receive(absl::string_view bytes);
  void Grant(size_t bytes);

  EventLoop* loop_;
  std::shared_ptr<Connection> connection_;
  const uint32_t id_;
  absl::Status status_;
  std::string input_;
  size_t consumed_ = 0;
  size_t to_grant_ = 0;
  bool fin_ = false;
  std::function<void(absl::string_view)> take_;
  std::deque<wire::Control> controls_;
  EventLoop::TimerId deadline_ = 0;
};

using StreamPtr = std::shared_ptr<Stream>;

class Connection : public std::enable_shared_from_this<Connection>,
                   private wire::ServerSession::Handler {
 public:
  using Serve = std::function<void(StreamPtr, wire::Request)>;

  Connection(EventLoop* loop, unique_fd fd, wire::Hello hello, Serve serve,
             std::function<void()> on_closed);
  ~Connection() override;

  absl::Status Start();
  // Ends every stream and closes the descriptor. `on_closed` is called once.
  void Close(const absl::Status& why);

 private:
  friend class Stream;

  void OnOpen(uint32_t id, wire::Request request, wire::ServerSession::Input input) override;
  void OnControl(uint32_t id, const wire::Control& control) override;
  void OnData(uint32_t id, absl::string_view bytes) override;
  void OnFin(uint32_t id) override;
  void OnCredit(uint32_t id) override;
  void OnCancel(uint32_t id) override;
  void Write(absl::string_view header, absl::string_view payload) override;

  void OnReady(uint32_t events);
  void Receive();
  void Flush();
  void UpdateWatch();
  [[nodiscard]] size_t backlog() const { return out_.size() - out_begin_; }

  EventLoop* loop_;
  unique_fd fd_;
  wire::ServerSession session_;
  Serve serve_;
  std::function<void()> on_closed_;
  std::unordered_map<uint32_t, std::weak_ptr<Stream>> streams_;
  std::string out_;  // frames that are not yet written
  size_t out_begin_ = 0;
  bool flush_planned_ = false;
  bool congested_ = false;  // the client has not taken what was written: streams wait
  uint32_t watched_ = 0;
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_CONNECTION_H_
