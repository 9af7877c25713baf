#include "cubby/mcp/server.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cubby/base/deadline.h"

namespace cubby::mcp {
namespace {

// Newest first: what is answered to a client that asks for none of them.
constexpr const char* kRevisions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr size_t kMaxCalls = 32;
constexpr std::chrono::milliseconds kProgressInterval(1000);

int CodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return kInvalidParams;
    case absl::StatusCode::kNotFound:
      return kResourceNotFound;
    default:
      return kInternalError;
  }
}

std::string KeyOf(const Json& id) { return ToLine(id); }

}  // namespace

void Call::OnCancel(std::function<void()> cancel) {
  std::lock_guard<std::mutex> lock(mutex_);
  on_cancel_ = std::move(cancel);
  if (cancelled_ && on_cancel_) on_cancel_();
}

void Call::Cancel() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (std::exchange(cancelled_, true)) return;
  if (on_cancel_) on_cancel_();
}

bool Call::cancelled() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return cancelled_;
}

Server::Server(Offer* offer, std::string version) : offer_(offer), version_(std::move(version)) {}

Server::~Server() = default;

void Server::Serve(int in, int out, int stop) {
  LineReader reader(in, stop);
  LineWriter writer(out);
  writer_ = &writer;
  std::thread progress([this] { ReportProgress(); });
  std::string line;
  while (true) {
    const LineReader::Result result = reader.Next(&line);
    if (result == LineReader::Result::kEnd) break;
    if (result == LineReader::Result::kTooLong) {
      Send(ErrorOf(nullptr, kInvalidRequest,
                   absl::StrCat("a message of more than ", kMaxLineBytes, " bytes")));
    } else if (!line.empty()) {
      Handle(ParseMessage(line));
    }
  }
  std::unique_lock<std::mutex> lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  std::vector<std::shared_ptr<Call>> calls;
  for (const auto& [key, running] : running_) calls.push_back(running.call);
  lock.unlock();
  // A cancellation may wait for its machine, and the calls need the lock to end.
  for (const std::shared_ptr<Call>& call : calls) call->Cancel();
  lock.lock();
  changed_.wait(lock, [this] { return threads_ == 0; });
  lock.unlock();
  progress.join();
  writer_ = nullptr;
}

void Server::Send(const Json& message) { writer_->Write(ToLine(message)); }

void Server::Handle(const Message& message) {
  switch (message.kind) {
    case Message::Kind::kMalformed:
      Send(ErrorOf(message.id, message.error, message.why));
      break;
    case Message::Kind::kRequest:
      HandleRequest(message);
      break;
    case Message::Kind::kNotification:
      if (message.method == "notifications/cancelled") CancelCall(message.params);
      break;
    case Message::Kind::kResponse:  // nothing is asked of the client
      break;
  }
}

void Server::HandleRequest(const Message& message) {
  const std::string& method = message.method;
  const auto answer = [&](absl::StatusOr<Json> result) {
    Send(result.ok() ? ResultOf(message.id, *std::move(result))
                     : ErrorOf(message.id, CodeOf(result.status()), result.status().message()));
  };
  if (method == "initialize") return answer(Initialize(message.params));
  if (method == "ping") return answer(Json::object());
  if (method == "tools/list") return answer(Json{{"tools", offer_->Tools()}});
  if (method == "tools/call") return StartCall(message);
  if (method == "resources/list") return answer(offer_->Resources());
  if (method == "resources/templates/list") {
    return answer(Json{{"resourceTemplates", offer_->ResourceTemplates()}});
  }
  if (method == "resources/read") {
    const Json uri = message.params.value("uri", Json());
    if (!uri.is_string()) return answer(absl::InvalidArgumentError("a uri is needed"));
    return answer(offer_->ReadResource(uri.get<std::string>()));
  }
  Send(ErrorOf(message.id, kMethodNotFound, absl::StrCat("no such method: ", method)));
}

Json Server::Initialize(const Json& params) {
  const Json wanted = params.value("protocolVersion", Json());
  const auto* known = std::find_if(std::begin(kRevisions), std::end(kRevisions),
                                   [&](const char* revision) { return wanted == revision; });
  return {{"protocolVersion", known == std::end(kRevisions) ? kRevisions[0] : *known},
          {"capabilities", {{"tools", Json::object()}, {"resources", Json::object()}}},
          {"serverInfo", {{"name", "cubby"}, {"title", "Cubby sandboxes"}, {"version", version_}}},
          {"instructions", offer_->Instructions()}};
}

void Server::StartCall(const Message& message) {
  const Json name = message.params.value("name", Json());
  const Json arguments = message.params.value("arguments", Json::object());
  if (!name.is_string() || !arguments.is_object()) {
    Send(ErrorOf(message.id, kInvalidParams, "a call needs a name and an object of arguments"));
    return;
  }
  const std::string key = KeyOf(message.id);
  const Json meta = message.params.value("_meta", Json::object());
  const auto call = std::make_shared<Call>();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (running_.size() >= kMaxCalls) {
      return Send(ErrorOf(message.id, kInternalError,
                          absl::StrCat("more than ", kMaxCalls, " calls at once")));
    }
    const Running running{
        .call = call,
        .progress_token = meta.is_object() ? meta.value("progressToken", Json()) : Json(),
        .started = MonotonicNow()};
    if (!running_.emplace(key, running).second) {
      return Send(ErrorOf(message.id, kInvalidRequest, "a call with this id is under way"));
    }
    ++threads_;
    changed_.notify_all();
  }
  try {
    // Serve waits for it: threads_ counts it.
    std::thread([this, id = message.id, key, name = name.get<std::string>(), arguments, call] {
      RunCall(id, key, name, arguments, call.get());
    }).detach();
  } catch (const std::system_error&) {
    std::lock_guard<std::mutex> lock(mutex_);
    running_.erase(key);
    --threads_;
    Send(ErrorOf(message.id, kInternalError, "this host has no room for one more thread"));
  }
}

void Server::RunCall(const Json& id, const std::string& key, const std::string& name,
                     const Json& arguments, Call* call) {
  absl::StatusOr<Json> result = offer_->CallTool(name, arguments, call);
  {
    // Before the answer: no report of progress may follow it.
    std::lock_guard<std::mutex> lock(mutex_);
    running_.erase(key);
  }
  // Who cancels a call wants no answer.
  if (!call->cancelled()) {
    if (result.ok()) {
      Send(ResultOf(id, *std::move(result)));
    } else {
      // An unknown tool is a wrong parameter of tools/call.
      const int code = absl::IsNotFound(result.status()) ? kInvalidParams : CodeOf(result.status());
      Send(ErrorOf(id, code, result.status().message()));
    }
  }
  std::lock_guard<std::mutex> lock(mutex_);
  --threads_;
  changed_.notify_all();
}

void Server::CancelCall(const Json& params) {
  std::shared_ptr<Call> call;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = running_.find(KeyOf(params.value("requestId", Json())));
    if (found == running_.end()) return;  // it has just been answered
    call = found->second.call;
  }
  call->Cancel();
}

void Server::ReportProgress() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    // Without calls it sleeps and wakes for nothing.
    changed_.wait(lock, [this] { return stopping_ || !running_.empty(); });
    if (changed_.wait_for(lock, kProgressInterval, [this] { return stopping_; })) return;
    for (auto& [key, running] : running_) {
      if (running.progress_token.is_null()) continue;
      const absl::Duration age = MonotonicNow() - running.started;
      Send(Notification(
          "notifications/progress",
          {{"progressToken", running.progress_token},
           {"progress", ++running.reports},
           {"message", absl::StrCat("running for ", absl::ToInt64Seconds(age), " s")}}));
    }
  }
}

}  // namespace cubby::mcp
