#include "cubby/search/glob_matcher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/utf8.h"

namespace cubby::search {
namespace {

using Op = GlobStep::Op;

constexpr size_t kMaxClasses = 256;
constexpr size_t kMaxTransitions = 128 << 10;  // 512 KiB
constexpr size_t kMaxCachedSteps = 64 << 10;   // twice 256 KiB: in the sets and in their keys
constexpr size_t kMaxStates = 2048;

}  // namespace

GlobMatcher::GlobMatcher(GlobPattern pattern) : pattern_(std::move(pattern)) {
  mark_.assign(pattern_.steps().size(), 0);
  BuildClasses();
  max_states_ =
      class_count_ > kMaxClasses ? 0 : std::min(kMaxStates, kMaxTransitions / class_count_);
  ClearCache();
}

void GlobMatcher::BuildClasses() {
  boundaries_ = {0, '/', '/' + 1};
  for (const GlobStep& step : pattern_.steps()) {
    if (step.op != Op::kChar || step.arg == UINT32_MAX) continue;
    boundaries_.push_back(step.arg);
    boundaries_.push_back(step.arg + 1);
  }
  for (const CharSet& set : pattern_.sets()) {
    for (const CharRange& range : set.ranges) {
      boundaries_.push_back(range.first);
      boundaries_.push_back(range.last + 1);
    }
  }
  std::sort(boundaries_.begin(), boundaries_.end());
  boundaries_.erase(std::unique(boundaries_.begin(), boundaries_.end()), boundaries_.end());
  class_count_ = boundaries_.size();
  for (uint32_t c = 0; c < ascii_class_.size(); ++c) {
    const auto above = std::upper_bound(boundaries_.begin(), boundaries_.end(), c);
    ascii_class_[c] = static_cast<uint32_t>(above - boundaries_.begin() - 1);
  }
}

uint32_t GlobMatcher::ClassOf(uint32_t c) const {
  const auto above = std::upper_bound(boundaries_.begin(), boundaries_.end(), c);
  return static_cast<uint32_t>(above - boundaries_.begin() - 1);
}

void GlobMatcher::ForgetMarks() {
  if (++mark_now_ != 0) return;
  // The counter went round: old marks would look new.
  std::fill(mark_.begin(), mark_.end(), 0);
  mark_now_ = 1;
}

void GlobMatcher::AddClosure(uint32_t step, StepSet* set) {
  stack_.assign(1, step);
  while (!stack_.empty()) {
    const uint32_t at = stack_.back();
    stack_.pop_back();
    if (mark_[at] == mark_now_) continue;
    mark_[at] = mark_now_;
    const GlobStep& s = pattern_.steps()[at];
    if (s.op == Op::kSplit) {
      stack_.push_back(s.arg);
      stack_.push_back(s.next);
    } else {
      set->push_back(at);
    }
  }
}

GlobMatcher::StepSet GlobMatcher::StartSet() {
  ForgetMarks();
  StepSet set;
  AddClosure(pattern_.start(), &set);
  std::sort(set.begin(), set.end());
  return set;
}

GlobMatcher::StepSet GlobMatcher::StepOver(const StepSet& from, uint32_t c) {
  ForgetMarks();
  StepSet set;
  for (uint32_t at : from) {
    const GlobStep& s = pattern_.steps()[at];
    const bool passes = (s.op == Op::kChar && s.arg == c) || (s.op == Op::kNotSlash && c != '/') ||
                        s.op == Op::kAny ||
                        (s.op == Op::kSet && pattern_.sets()[s.arg].Contains(c));
    if (passes) AddClosure(s.next, &set);
  }
  std::sort(set.begin(), set.end());
  return set;
}

bool GlobMatcher::HoldsMatch(const StepSet& set) const {
  return std::any_of(set.begin(), set.end(),
                     [this](uint32_t at) { return pattern_.steps()[at].op == Op::kMatch; });
}

void GlobMatcher::ClearCache() {
  states_.assign(1, {});
  accepting_.assign(1, 0);
  transitions_.assign(max_states_ == 0 ? 1 : class_count_, kDead);
  state_ids_.clear();
  cached_steps_ = 0;
  ++generation_;
}

int32_t GlobMatcher::Intern(StepSet set) {
  if (set.empty()) return kDead;
  const std::string key(reinterpret_cast<const char*>(set.data()), set.size() * sizeof(set[0]));
  if (const auto found = state_ids_.find(key); found != state_ids_.end()) return found->second;
  if (states_.size() >= max_states_ || cached_steps_ + set.size() > kMaxCachedSteps) return kFull;
  const auto id = static_cast<int32_t>(states_.size());
  cached_steps_ += set.size();
  accepting_.push_back(HoldsMatch(set) ? 1 : 0);
  states_.push_back(std::move(set));
  transitions_.insert(transitions_.end(), class_count_, kUnknown);
  state_ids_.emplace(key, id);
  return id;
}

int32_t GlobMatcher::Advance(int32_t state, absl::string_view text) {
  size_t at = 0;
  while (at < text.size() && state > kDead) {
    uint32_t c = static_cast<unsigned char>(text[at]);
    uint32_t cls;
    if (c < 128) {
      cls = ascii_class_[c];
      ++at;
    } else {
      const Utf8Char wide = DecodeUtf8(text.substr(at));
      c = wide.value;
      cls = ClassOf(c);
      at += wide.length;
    }
    int32_t next = transitions_[static_cast<size_t>(state) * class_count_ + cls];
    if (next == kUnknown) {
      next = Intern(StepOver(states_[static_cast<size_t>(state)], c));
      if (next == kFull) return kFull;
      transitions_[static_cast<size_t>(state) * class_count_ + cls] = next;
    }
    state = next;
  }
  return state;
}

GlobMatcher::StepSet GlobMatcher::Run(absl::string_view text) {
  StepSet set = StartSet();
  while (!text.empty() && !set.empty()) {
    const Utf8Char c = DecodeUtf8(text);
    text.remove_prefix(c.length);
    set = StepOver(set, c.value);
  }
  return set;
}

bool GlobMatcher::Matches(absl::string_view path) {
  EnterFolder("");
  return MatchesName(path);
}

void GlobMatcher::EnterFolder(absl::string_view folder) {
  folder_.assign(folder.data(), folder.size());
  if (!folder_.empty()) folder_.push_back('/');
  folder_generation_ = 0;
}

int32_t GlobMatcher::FolderState() {
  if (folder_generation_ == generation_) return folder_state_;
  folder_state_ = Intern(StartSet());
  if (folder_state_ != kFull) folder_state_ = Advance(folder_state_, folder_);
  if (folder_state_ == kFull) {
    if (max_states_ > 0) ClearCache();
    return kFull;
  }
  folder_generation_ = generation_;
  return folder_state_;
}

std::string GlobMatcher::InFolder(absl::string_view name, absl::string_view after) const {
  return absl::StrCat(folder_, name, after);
}

bool GlobMatcher::MatchesName(absl::string_view name) {
  int32_t state = FolderState();
  if (state != kFull) state = Advance(state, name);
  if (state != kFull) return accepting_[static_cast<size_t>(state)] != 0;
  if (max_states_ > 0) ClearCache();
  return HoldsMatch(Run(InFolder(name, "")));
}

bool GlobMatcher::MayMatchBelow(absl::string_view name) {
  int32_t state = FolderState();
  if (state != kFull) state = Advance(state, name);
  if (state != kFull) state = Advance(state, "/");
  if (state != kFull) return state != kDead;
  if (max_states_ > 0) ClearCache();
  return !Run(InFolder(name, "/")).empty();
}

}  // namespace cubby::search
