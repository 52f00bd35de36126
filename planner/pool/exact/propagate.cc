// The inner part of the search: what a choice implies, and how it is undone.
#include <algorithm>

#include "planner/pool/exact/search.h"

namespace berth {
namespace {

constexpr double kWeightOfRaise = 0.1;  // of a failure that no single section explains

}  // namespace

bool ExactSearch::Try(const Choice& choice, int32_t section) {
  const bool raised = choice.block == kNone ? SkipFloor(section) : Place(choice.block);
  if (raised && UpdateSections()) return true;
  for (const int32_t s : dirty_) is_dirty_[s] = 0;
  dirty_.clear();
  return false;
}

bool ExactSearch::Place(int32_t block) {
  const int64_t offset = offset_[block];
  position_[block] = offset;
  trail_.push_back({block, SavedKind::kPlaced, {offset}});
  hash_ -= HashWaiting(block, offset);
  offset_[block] = kNeverFits;
  for (const int32_t s : model_.SectionsOf(block)) {
    if (!is_dirty_[s]) dirty_.push_back(s);
    is_dirty_[s] = 1;
  }
  ListStackable(block, offset);
  const absl::Span<const ExactModel::Meeting> meetings = model_.MeetingsOf(block);
  spent_units_ += static_cast<int64_t>(meetings.size());
  for (const ExactModel::Meeting& meeting : meetings) {
    if (offset + meeting.lift > offset_[meeting.block] &&
        !Raise(meeting.block, model_.FitAtLeast(meeting.block, offset + meeting.lift))) {
      return false;
    }
  }
  // They do not lie on `block` itself, but on some other one.
  for (const int32_t b : stackable_) {
    if (!Raise(b, model_.FitAtLeast(b, NextEnd(b, kNone, kNeverFits)))) return false;
  }
  return true;
}

// Of two blocks over the same sections that lie on each other the one with the lower index is the
// lower one: what is alike but for its size, comes before, and could lie where `placed` lies.
void ExactSearch::ListStackable(int32_t placed, int64_t offset) {
  stackable_.clear();
  if (model_.span_class[placed] == kNone) return;
  for (const ExactModel::Meeting& meeting : model_.MeetingsOf(placed)) {
    const int32_t b = meeting.block;
    if (b >= placed) break;
    if (offset_[b] == offset && model_.span_class[b] == model_.span_class[placed]) {
      stackable_.push_back(b);
    }
  }
}

// The least offset, if below `least`, at which the block lies on another that still waits and does
// not live in `section`, or on a fixed one.
int64_t ExactSearch::NextEnd(int32_t block, int32_t section, int64_t least) {
  const absl::Span<const ExactModel::Meeting> meetings = model_.MeetingsOf(block);
  spent_units_ += static_cast<int64_t>(meetings.size()) / 2;
  for (const ExactModel::Meeting& meeting : meetings) {
    const int32_t other = meeting.block;
    const int64_t end = offset_[other] + model_.size[other];
    if (end < least && (section == kNone || lives_in_[other] != section)) least = end;
  }
  if (model_.has_fixed) {
    for (const ExactModel::FixedRange& range : model_.ForbiddenTo(block)) {
      if (range.end > offset_[block]) least = std::min(least, range.end);
    }
  }
  return least;
}

bool ExactSearch::SkipFloor(int32_t section) {
  const int64_t floor = sections_[section].floor;
  int64_t next = kNeverFits;
  for (const ExactModel::SectionEntry& entry : Live(section)) {
    lives_in_[entry.block] = section;
    if (offset_[entry.block] > floor) next = std::min(next, offset_[entry.block]);
  }
  for (const ExactModel::SectionEntry& entry : Live(section)) {
    if (offset_[entry.block] == floor) next = NextEnd(entry.block, section, next);
  }
  if (next + sections_[section].rest > height_) {
    weight_[section] += 1;
    return false;
  }
  for (const ExactModel::SectionEntry& entry : Live(section)) {
    if (offset_[entry.block] < next && !Raise(entry.block, model_.FitAtLeast(entry.block, next))) {
      return false;
    }
  }
  return true;
}

bool ExactSearch::Raise(int32_t block, int64_t offset) {
  if (offset + model_.size[block] > height_) {
    for (const int32_t s : model_.SectionsOf(block)) weight_[s] += kWeightOfRaise;
    return false;
  }
  trail_.push_back({block, SavedKind::kOffset, {offset_[block]}});
  hash_ -= HashWaiting(block, offset_[block]);
  offset_[block] = offset;
  hash_ += HashWaiting(block, offset);
  for (const int32_t s : model_.SectionsOf(block)) {
    if (!is_dirty_[s]) dirty_.push_back(s);
    is_dirty_[s] = 1;
  }
  spent_units_ += static_cast<int64_t>(model_.SectionsOf(block).size()) / 4;
  return true;
}

bool ExactSearch::UpdateSections() {
  // Where it failed often, it fails first: then the others need no update.
  std::sort(dirty_.begin(), dirty_.end(),
            [&](int32_t a, int32_t b) { return weight_[a] > weight_[b]; });
  for (size_t i = 0; i < dirty_.size(); ++i) {
    const int32_t s = dirty_[i];
    const Section& old = sections_[s];
    trail_.push_back(
        {s, SavedKind::kSection, {old.floor, old.least_end, old.rest, old.at_floor, old.waiting}});

    if (!UpdateSection(s)) {
      weight_[s] += 1;
      return false;
    }
    is_dirty_[s] = 0;
  }
  dirty_.clear();
  return true;
}

// The section's blocks are kept by rising least offset, which from one update to the next changes
// little. Taken in that order, each begins at its least offset or at the end of the one before: the
// end of the last is the least height of this section alone.
bool ExactSearch::UpdateSection(int32_t s) {
  const int32_t first = model_.section_first[s];
  ExactModel::SectionEntry* live = &live_[first];
  const int32_t count = sections_[s].waiting;
  spent_units_ += count;
  int64_t* offsets = sorted_offsets_.data();
  int32_t waiting = 0;
  for (int32_t i = 0; i < count; ++i) {
    const ExactModel::SectionEntry entry = live[i];
    const int64_t offset = offset_[entry.block];
    int32_t at = i;
    for (; at > 0 && offsets[at - 1] > offset; --at) {
      offsets[at] = offsets[at - 1];
      live[at] = live[at - 1];
    }
    offsets[at] = offset;
    live[at] = entry;
    waiting += offset < kNeverFits ? 1 : 0;
  }
  Section& section = sections_[s];
  section.waiting = waiting;
  if (waiting == 0) {
    section = {kNeverFits, kNeverFits, 0, 0, 0};
    return true;
  }
  const int64_t floor = offsets[0];
  int64_t least_end = kNeverFits, rest = 0, end = 0;
  int32_t at_floor = 0;
  for (int32_t i = 0; i < waiting; ++i) {
    const int64_t size = live[i].size, offset = offsets[i];
    rest += size;
    end = std::max(end, offset) + size;
    least_end = std::min(least_end, offset + size);
    at_floor += offset == floor ? 1 : 0;
  }
  section.floor = floor;
  section.least_end = least_end;
  section.rest = rest;
  section.at_floor = at_floor;
  return end <= height_ && (!model_.has_fixed || FitsBetweenFixed(s));
}

// The same with the fixed blocks among those that wait.
bool ExactSearch::FitsBetweenFixed(int32_t s) {
  jobs_.clear();
  for (const ExactModel::SectionEntry& entry : Live(s)) {
    if (IsWaiting(entry.block)) jobs_.push_back({offset_[entry.block], entry.size});
  }
  const int64_t floor = sections_[s].floor;
  for (const ExactModel::FixedRange& range : model_.FixedIn(s)) {
    const int64_t begin = std::max(range.begin, floor);
    if (range.end > begin) jobs_.push_back({begin, range.end - begin});
  }
  std::sort(jobs_.begin(), jobs_.end());
  spent_units_ += static_cast<int64_t>(2 * jobs_.size());
  int64_t end = 0;
  for (const auto& [offset, size] : jobs_) end = std::max(end, offset) + size;
  return end <= height_;
}

void ExactSearch::Undo(size_t trail_size) {
  spent_units_ += static_cast<int64_t>(trail_.size() - trail_size) / 2;
  while (trail_.size() > trail_size) {
    const Saved& saved = trail_.back();
    switch (saved.kind) {
      case SavedKind::kOffset:
        hash_ -= HashWaiting(saved.index, offset_[saved.index]);
        offset_[saved.index] = saved.values[0];
        hash_ += HashWaiting(saved.index, saved.values[0]);
        break;
      case SavedKind::kPlaced:
        offset_[saved.index] = saved.values[0];
        hash_ += HashWaiting(saved.index, saved.values[0]);
        break;
      case SavedKind::kSection:
        sections_[saved.index] = {saved.values[0], saved.values[1], saved.values[2],
                                  static_cast<int32_t>(saved.values[3]),
                                  static_cast<int32_t>(saved.values[4])};
        break;
    }
    trail_.pop_back();
  }
}

}  // namespace berth
