#include "cubby/cli/signal_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <utility>

namespace cubby::cli {
namespace {

constexpr int kRelayed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};

// A handler function may only touch this.
std::atomic<int> g_pipe{-1};
struct sigaction g_previous[std::size(kRelayed)];

void Enqueue(int signal) {
  const int saved_errno = errno;
  const auto byte = static_cast<unsigned char>(signal);
  // A full pipe holds thousands of signals that nobody has read: one more says nothing new.
  [[maybe_unused]] const ssize_t written = ::write(g_pipe.load(), &byte, 1);
  errno = saved_errno;
}

}  // namespace

SignalRelay::SignalRelay() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return;  // signals then act as they do by default
  read_end_.reset(ends[0]);
  write_end_.reset(ends[1]);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  g_pipe = ends[1];
  sigset_t relayed;
  sigemptyset(&relayed);
  for (const int signal : kRelayed) sigaddset(&relayed, signal);
  thread_ = std::thread([this, relayed] {
    pthread_sigmask(SIG_UNBLOCK, &relayed, nullptr);
    Run();
  });
  // This thread and those that it starts from now on are left alone by them.
  pthread_sigmask(SIG_BLOCK, &relayed, &callers_mask_);
  for (size_t i = 0; i < std::size(kRelayed); ++i) {
    struct sigaction action = {};
    action.sa_handler = Enqueue;
    action.sa_flags = SA_RESTART;
    sigaction(kRelayed[i], nullptr, &g_previous[i]);
    // A signal that our parent had ignored (nohup) stays ignored.
    if (g_previous[i].sa_handler != SIG_IGN) sigaction(kRelayed[i], &action, nullptr);
  }
}

SignalRelay::~SignalRelay() {
  if (!thread_.joinable()) return;
  for (size_t i = 0; i < std::size(kRelayed); ++i) {
    sigaction(kRelayed[i], &g_previous[i], nullptr);
  }
  pthread_sigmask(SIG_SETMASK, &callers_mask_, nullptr);
  g_pipe = -1;
  write_end_.reset();
  thread_.join();
}

void SignalRelay::Run() {
  unsigned char signal = 0;
  while (true) {
    // The thread sanitizer runs handlers in poll(2), which is where it waits, and not in read(2).
    pollfd readable{.fd = read_end_.get(), .events = POLLIN};
    if (poll(&readable, 1, -1) < 0) continue;
    const ssize_t got = ::read(read_end_.get(), &signal, 1);
    if (got == 1) {
      Deliver(signal);
    } else if (got == 0 || errno != EINTR) {
      return;
    }
  }
}

void SignalRelay::Deliver(int signal) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (signal == SIGWINCH) {
    if (handler_ != nullptr) handler_(signal, count_);
    return;
  }
  if (first_ == 0) first_ = signal;
  ++count_;
  if (handler_ != nullptr) {
    handler_(signal, count_);
  } else {
    waiting_.push_back(signal);
  }
}

void SignalRelay::SetHandler(Handler handler) {
  const std::lock_guard<std::mutex> lock(mutex_);
  handler_ = std::move(handler);
  int ordinal = count_ - static_cast<int>(waiting_.size());
  for (const int signal : std::exchange(waiting_, {})) handler_(signal, ++ordinal);
}

void SignalRelay::ClearHandler() {
  const std::lock_guard<std::mutex> lock(mutex_);
  handler_ = nullptr;
}

int SignalRelay::first_signal() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return first_;
}

}  // namespace cubby::cli
