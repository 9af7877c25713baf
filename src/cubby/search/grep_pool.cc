#include "cubby/search/grep_pool.h"

#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "cubby/search/file_search.h"

namespace cubby::search {
namespace {

constexpr size_t kFilesPerBatch = 16;
// Handed over at once, so that threads seldom meet.
constexpr size_t kMatchesPerDelivery = 64;
constexpr size_t kBatchesPerThread = 8;
constexpr uint32_t kMaxThreads = 64;
// Of all batches together 4 MiB, when they are few.
constexpr size_t kResultBytesPerBatch = 128 << 10;

size_t BytesOf(const GrepMatch& match) {
  size_t bytes = sizeof(match) + match.path.size() + match.text.size();
  for (const auto* lines : {&match.before, &match.after}) {
    for (const ContextLine& line : *lines) bytes += sizeof(line) + line.text.size();
  }
  return bytes;
}

}  // namespace

GrepPool::GrepPool(const SearchRoot& root, const LinePattern& pattern, const GrepOptions& options,
                   uint64_t wanted)
    : root_(root),
      pattern_(pattern),
      options_(options),
      wanted_(wanted),
      max_batches_(kBatchesPerThread * std::min(options.threads, kMaxThreads)) {
  const uint32_t threads = std::min(options.threads, kMaxThreads);
  for (uint32_t i = 0; i < threads; ++i) {
    try {
      threads_.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      return;  // as many as the limits allow
    }
  }
}

GrepPool::~GrepPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void GrepPool::Work() {
  FileSearch search(pattern_, options_);
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stop_ || next_ < batches_.size(); });
    if (stop_) return;
    Batch* const batch = batches_[next_++].get();
    lock.unlock();
    SearchBatch(&search, batch);
    lock.lock();
    batch->done = true;
    progress_.notify_one();
  }
}

void GrepPool::SearchBatch(FileSearch* search, Batch* batch) {
  Summary counts;
  // Files of a batch are in order, so that more than is wanted of all is of no use.
  uint64_t left = wanted_;
  std::vector<GrepMatch> found;
  for (const File& file : batch->files) {
    if (const Truncation cause = options_.walk.interrupt.Check(); cause != Truncation::kNone) {
      counts.Truncate(cause);
      break;
    }
    unique_fd fd;
    int error = 0;
    if (file.folder == nullptr) {
      const int opened = root_.OpenBelow(file.path, kOpenFile);
      if (opened < 0) error = -opened;
      fd.reset(opened < 0 ? -1 : opened);
    } else {
      const char* name = file.path.c_str() + file.path.size() - file.name_bytes;
      fd.reset(openat(file.folder->get(), name, kOpenFile));
      if (!fd.valid()) error = errno;
    }
    bool go_on = search->Search(
        error == 0 ? fd.get() : -error, root_.Shown(file.path), &counts, [&](GrepMatch match) {
          found.push_back(std::move(match));
          if (--left == 0) return false;
          return found.size() < kMatchesPerDelivery || Deliver(batch, &found);
        });
    go_on = Deliver(batch, &found) && go_on;
    if (!go_on) break;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  batch->summary = std::move(counts);
  batch->files.clear();
}

bool GrepPool::Deliver(Batch* batch, std::vector<GrepMatch>* found) {
  if (found->empty()) return true;
  size_t bytes = 0;
  for (const GrepMatch& match : *found) bytes += BytesOf(match);
  std::unique_lock<std::mutex> lock(mutex_);
  // The head never waits for long: its results are taken as they come.
  work_.wait(lock, [&] { return stop_ || batch->ready_bytes < kResultBytesPerBatch; });
  if (stop_) return false;
  batch->ready_bytes += bytes;
  std::move(found->begin(), found->end(), std::back_inserter(batch->ready));
  found->clear();
  if (batches_.front().get() == batch) progress_.notify_one();
  return true;
}

bool GrepPool::Add(const std::shared_ptr<unique_fd>& folder, absl::string_view path,
                   size_t name_bytes, Summary* summary, Emit emit) {
  if (filling_ == nullptr) filling_ = std::make_unique<Batch>();
  filling_->files.push_back({folder, std::string(path), name_bytes});
  if (filling_->files.size() < kFilesPerBatch) return true;
  Enqueue();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!batches_.empty()) {
    Batch& head = *batches_.front();
    if (head.ready.empty() && !head.done) {
      if (batches_.size() < max_batches_) break;
      progress_.wait(lock, [&head] { return head.done || !head.ready.empty(); });
    }
    if (!TakeHead(&lock, summary, emit)) return false;
  }
  return true;
}

void GrepPool::Enqueue() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    batches_.push_back(std::move(filling_));
  }
  work_.notify_one();
}

// Emits what the head has, and drops it when it is done. Unlocked while emitting.
bool GrepPool::TakeHead(std::unique_lock<std::mutex>* lock, Summary* summary, Emit emit) {
  Batch* const head = batches_.front().get();
  std::vector<GrepMatch> ready = std::exchange(head->ready, {});
  head->ready_bytes = 0;
  std::unique_ptr<Batch> finished;
  if (head->done) {
    finished = std::move(batches_.front());
    batches_.pop_front();
    --next_;
  }
  lock->unlock();
  work_.notify_all();
  bool go_on = true;
  for (GrepMatch& match : ready) {
    if (!(go_on = emit(std::move(match)))) break;
  }
  if (finished != nullptr) {
    summary->Add(std::move(finished->summary));
    go_on = go_on && !summary->truncated();
  }
  lock->lock();
  return go_on;
}

bool GrepPool::Finish(Summary* summary, Emit emit) {
  if (filling_ != nullptr) Enqueue();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!batches_.empty()) {
    Batch& head = *batches_.front();
    progress_.wait(lock, [&head] { return head.done || !head.ready.empty(); });
    if (!TakeHead(&lock, summary, emit)) return false;
  }
  return true;
}

}  // namespace cubby::search
