// The names of one folder, sorted, in a bounded piece of memory.
#ifndef CUBBY_SEARCH_NAME_WINDOW_H_
#define CUBBY_SEARCH_NAME_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace cubby::search {

// Address space of which only the used part takes memory. Windows take it from both ends, like a
// stack: a window lies between the names and the references of the one before.
class NameArena {
 public:
  explicit NameArena(size_t bytes);
  ~NameArena();
  NameArena(const NameArena&) = delete;
  NameArena& operator=(const NameArena&) = delete;

  [[nodiscard]] char* begin() const { return begin_; }
  [[nodiscard]] char* end() const { return begin_ + bytes_; }

 private:
  char* begin_ = nullptr;
  size_t bytes_ = 0;
};

// Takes names in any order and keeps the smallest ones above a bound, as many as there is room for.
class NameWindow {
 public:
  // The window after `outer` in the arena, or, when that is used up, with a block of its own.
  void Open(const NameArena& arena, const NameWindow* outer);
  // Forgets the names and takes those after the last one next; the folder is to be read again.
  void Advance();
  void Close();

  void Add(absl::string_view name, uint8_t tag);
  // After the last Add.
  void Sort();

  [[nodiscard]] size_t size() const { return count_; }
  [[nodiscard]] absl::string_view name(size_t i) const;
  [[nodiscard]] uint8_t tag(size_t i) const { return refs()[i].tag; }
  // Names were left out that are greater than all in here.
  [[nodiscard]] bool more() const { return more_; }
  // This is the first window of its folder.
  [[nodiscard]] bool first() const { return first_; }

 private:
  struct Ref {
    uint64_t head;  // the first eight bytes, comparable as a number
    uint32_t offset;
    uint16_t length;
    uint8_t tag;
  };
  static_assert(sizeof(Ref) == 16);

  [[nodiscard]] Ref* refs() const { return reinterpret_cast<Ref*>(high_) - count_; }
  [[nodiscard]] absl::string_view NameOf(const Ref& ref) const {
    return {low_ + ref.offset, ref.length};
  }
  [[nodiscard]] bool Less(const Ref& a, const Ref& b) const;
  [[nodiscard]] size_t Used() const { return names_bytes_ + count_ * sizeof(Ref); }
  void KeepSmallerHalf();

  char* low_ = nullptr;   // names grow up from here
  char* high_ = nullptr;  // references grow down from here
  size_t room_ = 0;
  size_t names_bytes_ = 0;
  size_t count_ = 0;
  bool more_ = false;
  bool first_ = true;
  std::string after_;  // names up to this one were had in earlier windows
  std::string bound_;  // names above this one wait for a later window, when more_
  std::unique_ptr<char[]> block_;
};

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_NAME_WINDOW_H_
