// Any bytes that a client may send to the agent end in calls, answers or a refusal.
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <map>

#include "cubby/wire/server_session.h"

namespace cubby::wire {
namespace {

// Takes everything and answers some; checks what a handler may rely on.
class Handler : public ServerSession::Handler {
 public:
  void OnOpen(uint32_t id, Request request, ServerSession::Input input) override {
    if (!session->IsOpen(id)) __builtin_trap();
    unread[id] = 0;
    if (request.has_stat()) session->SendEnd(id, absl::NotFoundError("x"));
    if (request.has_read_file()) session->SendData(id, 0, "abc");
  }
  void OnControl(uint32_t id, const Control&) override {
    if (!session->IsOpen(id)) __builtin_trap();
  }
  void OnData(uint32_t id, absl::string_view bytes) override {
    unread[id] += bytes.size();
    // Credit bounds what can be unread.
    if (unread[id] > kDefaultWindowBytes) __builtin_trap();
    if (bytes.size() % 2 == 0) {
      session->GrantCredit(id, static_cast<uint32_t>(unread[id]));
      unread[id] = 0;
    }
  }
  void OnFin(uint32_t id) override { session->SendEnd(id, absl::OkStatus()); }
  void OnCredit(uint32_t id) override {
    if (session->SendCredit(id) < 0) __builtin_trap();
  }
  void OnCancel(uint32_t id) override {
    if (session->IsOpen(id)) __builtin_trap();
  }
  void Write(absl::string_view, absl::string_view) override {}

  ServerSession* session = nullptr;
  std::map<uint32_t, size_t> unread;
};

}  // namespace
}  // namespace cubby::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cubby::wire;
  Handler handler;
  ServerSession session(&handler, Hello());
  handler.session = &session;
  while (size > 0) {
    size_t space = 0;
    char* to = session.Space(&space);
    const size_t n = std::min(space, size);
    memcpy(to, data, n);
    session.Filled(n);
    data += n;
    size -= n;
    if (!session.Process().ok()) break;
  }
  return 0;
}
