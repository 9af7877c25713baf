// One writer at a time for each file of each sandbox.
#ifndef CUBBY_TOOLS_FILE_LOCKS_H_
#define CUBBY_TOOLS_FILE_LOCKS_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace cubby::tools {

// Equal paths of different sandboxes do not wait for each other; a lock that nobody holds takes no
// memory. [T-53]
class FileLocks {
 public:
  // Held while it lives.
  class Held {
   public:
    Held(FileLocks* locks, std::pair<std::string, std::string> key);
    ~Held();
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    FileLocks* const locks_;
    const std::pair<std::string, std::string> key_;
    std::shared_ptr<std::mutex> mutex_;
  };

  // `path` is canonical. Waits.
  Held Lock(const std::string& sandbox_id, const std::string& path) {
    return Held(this, {sandbox_id, path});
  }

  [[nodiscard]] size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<std::mutex>> locks_;
};

}  // namespace cubby::tools

#endif  // CUBBY_TOOLS_FILE_LOCKS_H_
