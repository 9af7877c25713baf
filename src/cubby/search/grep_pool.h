// Searches files on several threads and gives the results back in the order of the files.
#ifndef CUBBY_SEARCH_GREP_POOL_H_
#define CUBBY_SEARCH_GREP_POOL_H_

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "cubby/base/unique_fd.h"
#include "cubby/search/grep_options.h"
#include "cubby/search/line_pattern.h"
#include "cubby/search/search_root.h"
#include "cubby/search/summary.h"

namespace cubby::search {

// Used by one thread. Files go to the threads in batches. Bounded: so many batches are under way,
// and a batch whose results are many waits until those before it are taken.
class GrepPool {
 public:
  // False: no more are wanted.
  using Emit = absl::FunctionRef<bool(GrepMatch)>;

  // All are borrowed. No file gives more than `wanted` matches.
  GrepPool(const SearchRoot& root, const LinePattern& pattern, const GrepOptions& options,
           uint64_t wanted);
  // False when the machine gives no thread (a sandbox may be short of them): search without a pool.
  [[nodiscard]] bool running() const { return !threads_.empty(); }

  // Ends what is under way, whose results are lost.
  ~GrepPool();
  GrepPool(const GrepPool&) = delete;
  GrepPool& operator=(const GrepPool&) = delete;

  // Hands over one file: `name_bytes` of `path` are its name in `folder`, which is null when the
  // file is opened by path. Emits, in order, what is ready, and waits when too much is under way.
  // False when the search is over.
  bool Add(const std::shared_ptr<unique_fd>& folder, absl::string_view path, size_t name_bytes,
           Summary* summary, Emit emit);
  // Emits all that is still to come.
  bool Finish(Summary* summary, Emit emit);

 private:
  struct File {
    std::shared_ptr<unique_fd> folder;
    std::string path;
    size_t name_bytes;
  };
  struct Batch {
    std::vector<File> files;
    std::vector<GrepMatch> ready;
    size_t ready_bytes = 0;
    Summary summary;
    bool done = false;
  };

  void Work();
  void SearchBatch(class FileSearch* search, Batch* batch);
  bool Deliver(Batch* batch, std::vector<GrepMatch>* found);
  void Enqueue();
  bool TakeHead(std::unique_lock<std::mutex>* lock, Summary* summary, Emit emit);

  const SearchRoot& root_;
  const LinePattern& pattern_;
  const GrepOptions& options_;
  const uint64_t wanted_;
  const size_t max_batches_;

  std::mutex mutex_;
  std::condition_variable work_;                // for the threads: batches, room, or the end
  std::condition_variable progress_;            // for the owner: results, or a batch done
  std::deque<std::unique_ptr<Batch>> batches_;  // in order; the head's results are taken first
  size_t next_ = 0;                             // of batches_, to be begun
  bool stop_ = false;
  std::unique_ptr<Batch> filling_;
  std::vector<std::thread> threads_;
};

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_GREP_POOL_H_
