// The agent's end of one connection: checks every frame of the peer against the protocol, keeps
// the credit of every stream, and turns the rest into calls on a handler. Makes no system call.
#ifndef CUBBY_WIRE_SERVER_SESSION_H_
#define CUBBY_WIRE_SERVER_SESSION_H_

#include <stdint.h>

#include <string>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cubby/wire/agent.pb.h"
#include "cubby/wire/frame.h"

namespace cubby::wire {

class ServerSession {
 public:
  enum class Input { kNone, kStream };  // whether the client will send data

  // Calls back from Process only. `id` is a stream that is open; its handler may end it.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void OnOpen(uint32_t id, Request request, Input input) = 0;
    virtual void OnControl(uint32_t id, const Control& control) = 0;
    virtual void OnData(uint32_t id, absl::string_view bytes) = 0;
    virtual void OnFin(uint32_t id) = 0;     // no more data from the client
    virtual void OnCredit(uint32_t id) = 0;  // more may be sent
    virtual void OnCancel(uint32_t id) = 0;  // the stream is closed already
    // Sends a frame, or queues it.
    virtual void Write(absl::string_view header, absl::string_view payload) = 0;
  };

  ServerSession(Handler* handler, Hello hello) : handler_(handler), hello_(std::move(hello)) {}

  char* Space(size_t* size) { return parser_.Space(size); }
  void Filled(size_t size) { parser_.Filled(size); }
  // Handles all whole frames. An error is the peer's fault and ends the connection.
  absl::Status Process();

  // What the stream may send now; 0 also when it is closed.
  [[nodiscard]] int64_t SendCredit(uint32_t id) const;
  [[nodiscard]] bool IsOpen(uint32_t id) const { return streams_.contains(id); }

  // Messages may overdraw the credit by one message, so that a small event never waits for space
  // that only a large one would need; data must fit.
  void SendEvent(uint32_t id, const Event& event);
  void SendData(uint32_t id, int channel, absl::string_view bytes);
  // The handler took `bytes` of received data: the client may send as much again.
  void GrantCredit(uint32_t id, uint32_t bytes);
  void SendEnd(uint32_t id, const absl::Status& status);

 private:
  struct Stream {
    int64_t send_credit = 0;
    int64_t receive_window = kDefaultWindowBytes;
    bool finished = false;  // the client sent FIN
  };

  absl::Status Handle(const Frame& frame);
  absl::Status HandleHello(const Frame& frame);
  absl::Status HandleOpen(const Frame& frame);
  absl::Status HandleData(const Frame& frame, Stream* stream);
  void Send(FrameKind kind, uint32_t id, uint8_t flags, absl::string_view payload);

  Handler* handler_;
  Hello hello_;
  FrameParser parser_;
  bool greeted_ = false;
  uint32_t last_id_ = 0;
  std::unordered_map<uint32_t, Stream> streams_;
};

}  // namespace cubby::wire

#endif  // CUBBY_WIRE_SERVER_SESSION_H_
