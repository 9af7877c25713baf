// The protocol with a fake offer and a client that may be anybody. The real clients are in
// tests/clients/mcp.
#include "cubby/mcp/server.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "cubby/base/deadline.h"
#include "cubby/base/unique_fd.h"
#include "cubby/mcp/resources.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby::mcp {
namespace {

using testing::HasSubstr;

// "echo" answers at once, "wait" when it is cancelled or released.
class FakeOffer : public Offer {
 public:
  std::string Instructions() const override { return "be careful"; }
  Json Tools() const override { return Json::array({{{"name", "echo"}}, {{"name", "wait"}}}); }
  absl::StatusOr<Json> CallTool(const std::string& name, const Json& arguments,
                                Call* call) override {
    if (name == "echo") return Json{{"content", arguments}};
    if (name != "wait") return absl::NotFoundError("there is no tool " + name);
    std::unique_lock<std::mutex> lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    bool ended = false;
    lock.unlock();
    call->OnCancel([&] {
      std::lock_guard<std::mutex> guard(mutex_);
      ended = true;
      ++cancelled_;
      changed_.notify_all();
    });
    lock.lock();
    changed_.wait(lock, [&] { return ended || released_; });
    lock.unlock();
    call->OnCancel(nullptr);
    return Json{{"content", Json::array()}};
  }
  absl::StatusOr<Json> Resources() override { return Json{{"resources", Json::array()}}; }
  Json ResourceTemplates() const override { return Json::array(); }
  absl::StatusOr<Json> ReadResource(const std::string& uri) override {
    return absl::NotFoundError("no such resource: " + uri);
  }

  void AwaitWaiting(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }
  void Release() {
    std::lock_guard<std::mutex> lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }
  int cancelled() {
    std::lock_guard<std::mutex> lock(mutex_);
    return cancelled_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  int cancelled_ = 0;
  bool released_ = false;
};

class ServerTest : public testing::Test {
 protected:
  ServerTest() : stop_(eventfd(0, EFD_CLOEXEC)) {
    int to_server[2], from_server[2];
    EXPECT_EQ(pipe2(to_server, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(from_server, O_CLOEXEC), 0);
    server_in_.reset(to_server[0]);
    in_.reset(to_server[1]);
    out_.reset(from_server[0]);
    server_out_.reset(from_server[1]);
    thread_ = std::thread([this] {
      server_.Serve(server_in_.get(), server_out_.get(), stop_.get());
      server_out_.reset();
    });
  }
  ~ServerTest() override {
    in_.reset();
    thread_.join();
  }

  void Send(const std::string& line) {
    const std::string whole = line + "\n";
    ASSERT_EQ(write(in_.get(), whole.data(), whole.size()), static_cast<ssize_t>(whole.size()));
  }
  void Request(int id, const std::string& method, const Json& params = Json::object()) {
    Send(Json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}.dump());
  }
  // The next message; null at the end.
  Json Next() {
    std::string line;
    char c;
    while (read(out_.get(), &c, 1) == 1) {
      if (c == '\n') return Json::parse(line);
      line += c;
    }
    return nullptr;
  }
  int ErrorOfNext() { return Next()["error"]["code"].get<int>(); }

  FakeOffer offer_;
  Server server_{&offer_, "1.2.3"};
  unique_fd stop_;
  unique_fd server_in_, server_out_, in_, out_;
  std::thread thread_;
};

TEST_F(ServerTest, RevisionsAreNegotiated) {
  for (const char* revision : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    Request(1, "initialize", {{"protocolVersion", revision}});
    EXPECT_EQ(Next()["result"]["protocolVersion"], revision);
  }
  Request(1, "initialize", {{"protocolVersion", "2031-01-01"}});
  const Json result = Next()["result"];
  EXPECT_EQ(result["protocolVersion"], "2025-11-25");
  EXPECT_EQ(result["serverInfo"]["version"], "1.2.3");
  EXPECT_EQ(result["instructions"], "be careful");
}

TEST_F(ServerTest, AnyLineGetsItsAnswerAndTheNextIsServed) {
  const std::pair<const char*, int> odd[] = {
      {"no json", kParseError},
      {"\xff\xfe", kParseError},
      {"[]", kInvalidRequest},
      {"7", kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":{},"method":"ping"})", kInvalidRequest},
      {R"({"jsonrpc":"1.0","id":1,"method":"ping"})", kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":1})", kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":1,"method":7})", kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})", kInvalidParams},
      {R"({"jsonrpc":"2.0","id":1,"method":"no/such"})", kMethodNotFound},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}})", kInvalidParams},
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}})",
       kInvalidParams},
      {R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{}})", kInvalidParams},
      {R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:"}})",
       kResourceNotFound},
  };
  for (const auto& [line, code] : odd) {
    Send(line);
    EXPECT_EQ(ErrorOfNext(), code) << line;
  }
  Send(std::string(1000, '[') + std::string(1000, ']'));
  EXPECT_EQ(ErrorOfNext(), kInvalidRequest) << "nested too deeply";
  // These get none.
  Send("");
  Send(R"({"jsonrpc":"2.0","method":"notifications/unknown"})");
  Send(R"({"jsonrpc":"2.0","id":5,"result":{}})");
  Send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}})");
  Request(2, "ping");
  EXPECT_EQ(Next()["id"], 2);
}

TEST_F(ServerTest, CallsRunBesideOneAnother) {
  Request(1, "tools/call", {{"name", "wait"}});
  offer_.AwaitWaiting(1);
  Request(2, "tools/call", {{"name", "echo"}, {"arguments", {{"a", 1}}}});
  EXPECT_EQ(Next()["id"], 2);
  Request(1, "tools/call", {{"name", "echo"}});
  EXPECT_EQ(ErrorOfNext(), kInvalidRequest) << "an id that is under way";
  offer_.Release();
  EXPECT_EQ(Next()["id"], 1);
}

TEST_F(ServerTest, ACancelledCallEndsAndIsNotAnswered) {
  Request(1, "tools/call", {{"name", "wait"}});
  offer_.AwaitWaiting(1);
  Send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
  Request(2, "ping");
  EXPECT_EQ(Next()["id"], 2);
  in_.reset();
  EXPECT_EQ(Next(), nullptr) << "nothing more before the end";
  EXPECT_EQ(offer_.cancelled(), 1);
}

TEST_F(ServerTest, ProgressIsReportedToThoseWhoAskUntilTheAnswer) {
  Request(1, "tools/call", {{"name", "wait"}, {"_meta", {{"progressToken", "t"}}}});
  Json report = Next();
  EXPECT_EQ(report["method"], "notifications/progress");
  EXPECT_EQ(report["params"]["progressToken"], "t");
  EXPECT_EQ(report["params"]["progress"], 1);
  EXPECT_EQ(Next()["params"]["progress"], 2);
  offer_.Release();
  while ((report = Next()).contains("method")) {
  }
  EXPECT_EQ(report["id"], 1);
}

TEST_F(ServerTest, TheEndOfInputOrAStopCancelsWhatIsUnderWay) {
  for (int i = 0; i < 5; ++i) Request(i, "tools/call", {{"name", "wait"}});
  offer_.AwaitWaiting(5);
  const uint64_t one = 1;
  ASSERT_EQ(write(stop_.get(), &one, sizeof(one)), 8);
  EXPECT_EQ(Next(), nullptr);
  EXPECT_EQ(offer_.cancelled(), 5);
}

TEST_F(ServerTest, MoreCallsThanAreServedAtOnceAreRefused) {
  for (int i = 0; i < 32; ++i) Request(i, "tools/call", {{"name", "wait"}});
  offer_.AwaitWaiting(32);
  Request(99, "tools/call", {{"name", "wait"}});
  const Json refused = Next();
  EXPECT_EQ(refused["id"], 99);
  EXPECT_THAT(refused["error"]["message"].get<std::string>(), HasSubstr("32"));
  offer_.Release();
}

TEST_F(ServerTest, ALineThatIsTooLongIsPassedOver) {
  std::thread sender([this] {
    const std::string piece(1 << 20, 'x');
    for (size_t sent = 0; sent <= kMaxLineBytes; sent += piece.size()) {
      ASSERT_EQ(write(in_.get(), piece.data(), piece.size()), static_cast<ssize_t>(piece.size()));
    }
    Send("");
    Request(3, "ping");
  });
  EXPECT_EQ(ErrorOfNext(), kInvalidRequest);
  EXPECT_EQ(Next()["id"], 3);
  sender.join();
}

TEST(Resources, NamesAreBytesAndSurviveTheirUri) {
  const std::string path = "/mnt/user-data/outputs/a b%\n\xff.png";
  const std::string uri = UriOf("0123", path);
  EXPECT_EQ(uri, "cubby://0123/mnt/user-data/outputs/a%20b%25%0a%ff.png");
  const std::optional<ResourceName> name = ParseUri(uri);
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->sandbox_id, "0123");
  EXPECT_EQ(name->path, path);
  for (const char* odd :
       {"", "cubby://", "cubby://x", "file:///etc/passwd", "cubby://x/%4", "cubby://x/%zz"}) {
    EXPECT_FALSE(ParseUri(odd).has_value()) << odd;
  }
}

TEST(Resources, PicturesAreImagesAndTextIsText) {
  EXPECT_EQ(ContentOf("u", "a.PNG", "\x89")["type"], "image");
  EXPECT_EQ(ContentOf("u", "a.txt", "text")["type"], "text");
  EXPECT_EQ(ContentOf("u", "a.bin", "\xff")["resource"]["blob"], "/w==");
  EXPECT_EQ(ResourceContents("u", "a.json", "{}")["mimeType"], "application/json");
}

}  // namespace
}  // namespace cubby::mcp
