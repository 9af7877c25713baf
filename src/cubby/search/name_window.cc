#include "cubby/search/name_window.h"

#include <endian.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

namespace cubby::search {
namespace {

// Sixty of the longest names; below that a large folder would be read too often.
constexpr size_t kLeastRoom = 16 << 10;

uint64_t HeadOf(absl::string_view name) {
  uint64_t head = 0;
  memcpy(&head, name.data(), std::min(name.size(), sizeof(head)));
  return be64toh(head);
}

}  // namespace

NameArena::NameArena(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  // Without it every window has a block of its own.
  if (memory == MAP_FAILED) return;
  begin_ = static_cast<char*>(memory);
  bytes_ = bytes & ~size_t{15};
}

NameArena::~NameArena() {
  if (begin_ != nullptr) munmap(begin_, bytes_);
}

void NameWindow::Open(const NameArena& arena, const NameWindow* outer) {
  Close();
  low_ = arena.begin();
  high_ = arena.end();
  // A window in a block of its own has nothing to share: those below it have blocks too.
  if (outer != nullptr) {
    low_ = outer->block_ == nullptr ? outer->low_ + outer->names_bytes_ : outer->low_;
    high_ = outer->block_ == nullptr ? outer->high_ - outer->count_ * sizeof(Ref) : outer->low_;
  }
  // Folders further down need room too.
  room_ = static_cast<size_t>(high_ - low_) / 4 * 3;
  if (room_ < kLeastRoom) {
    room_ = kLeastRoom;
    block_ = std::make_unique<char[]>(room_);
    low_ = block_.get();
    high_ = low_ + room_;
  }
}

void NameWindow::Close() {
  block_.reset();
  names_bytes_ = 0;
  count_ = 0;
  more_ = false;
  first_ = true;
  after_.clear();
  bound_.clear();
}

void NameWindow::Advance() {
  after_ = std::string(name(count_ - 1));
  names_bytes_ = 0;
  count_ = 0;
  more_ = false;
  first_ = false;
  bound_.clear();
}

bool NameWindow::Less(const Ref& a, const Ref& b) const {
  // Names hold no NUL, so a shorter head, padded with NULs, sorts first as it should.
  if (a.head != b.head) return a.head < b.head;
  return NameOf(a) < NameOf(b);
}

absl::string_view NameWindow::name(size_t i) const { return NameOf(refs()[i]); }

void NameWindow::Add(absl::string_view name, uint8_t tag) {
  if (!first_ && name <= after_) return;
  if (more_ && name > bound_) return;
  if (Used() + name.size() + sizeof(Ref) > room_) {
    KeepSmallerHalf();
    if (name > bound_) return;
  }
  memcpy(low_ + names_bytes_, name.data(), name.size());
  ++count_;
  *refs() = {HeadOf(name), static_cast<uint32_t>(names_bytes_), static_cast<uint16_t>(name.size()),
             tag};
  names_bytes_ += name.size();
}

void NameWindow::KeepSmallerHalf() {
  const size_t keep = count_ / 2;
  Ref* const begin = refs();
  std::nth_element(begin, begin + keep - 1, begin + count_,
                   [this](const Ref& a, const Ref& b) { return Less(a, b); });
  bound_ = std::string(NameOf(begin[keep - 1]));
  more_ = true;
  // The references to keep move to the upper end, then the names close ranks, lowest first.
  std::move_backward(begin, begin + keep, begin + count_);
  count_ = keep;
  std::sort(refs(), refs() + count_,
            [](const Ref& a, const Ref& b) { return a.offset < b.offset; });
  names_bytes_ = 0;
  for (Ref* ref = refs(); ref != reinterpret_cast<Ref*>(high_); ++ref) {
    memmove(low_ + names_bytes_, low_ + ref->offset, ref->length);
    ref->offset = static_cast<uint32_t>(names_bytes_);
    names_bytes_ += ref->length;
  }
}

void NameWindow::Sort() {
  std::sort(refs(), refs() + count_, [this](const Ref& a, const Ref& b) { return Less(a, b); });
}

}  // namespace cubby::search
