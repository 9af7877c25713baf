#include "cubby/tools/file_locks.h"

namespace cubby::tools {

FileLocks::Held::Held(FileLocks* locks, std::pair<std::string, std::string> key)
    : locks_(locks), key_(std::move(key)) {
  {
    std::lock_guard<std::mutex> guard(locks_->mutex_);
    std::shared_ptr<std::mutex>& lock = locks_->locks_[key_];
    if (lock == nullptr) lock = std::make_shared<std::mutex>();
    mutex_ = lock;
  }
  mutex_->lock();
}

FileLocks::Held::~Held() {
  mutex_->unlock();
  std::lock_guard<std::mutex> guard(locks_->mutex_);
  mutex_.reset();
  // The table's own reference is the last: nobody holds it or waits for it.
  const auto found = locks_->locks_.find(key_);
  if (found != locks_->locks_.end() && found->second.use_count() == 1) locks_->locks_.erase(found);
}

size_t FileLocks::size() const {
  std::lock_guard<std::mutex> guard(mutex_);
  return locks_.size();
}

}  // namespace cubby::tools
