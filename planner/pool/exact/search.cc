#include "planner/pool/exact/search.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace berth {
namespace {

constexpr int32_t kNone = -1;
constexpr size_t kLargestTable = size_t{1} << 17;
constexpr size_t kStatesPerBlock = 1024;
constexpr double kForget = 0.98;
enum SavedKind : uint8_t { kOffset, kPlaced, kSection };

}  // namespace

ExactSearch::ExactSearch(const ExactModel& model, ExactStrategy strategy)
    : model_(model), strategy_(std::move(strategy)), random_(strategy_.seed) {
  weight_.assign(model.section_count, 1);
  is_dirty_.assign(model.section_count, 0);
  position_.assign(model.block_count, 0);
  failed_states_.Reserve(
      std::min(kLargestTable, std::bit_ceil(kStatesPerBlock * (1 + model.set_block.size()))));
  lives_in_.assign(model.block_count, kNone);
  live_ = model.section_entries;
  int32_t most_live = 0;
  for (int32_t s = 0; s < model.section_count; ++s) {
    most_live = std::max(most_live, model.section_first[s + 1] - model.section_first[s]);
  }
  sorted_offsets_.resize(most_live);
}

void ExactSearch::SetHeight(int64_t height) {
  height_ = height;
  failed_states_.Clear();
  run_units_ = static_cast<double>(strategy_.restart_units);
  rank_ = strategy_.priorities;
  Restart();
}

void ExactSearch::Restart() {
  restart_at_units_ = spent_units_ + static_cast<int64_t>(run_units_);
  frames_.clear();
  choices_.clear();
  trail_.clear();
  hash_ = {};
  offset_.resize(model_.block_count);
  for (int32_t b = 0; b < model_.block_count; ++b) {
    offset_[b] = model_.FitAtLeast(b, 0);
    hash_ += HashWaiting(b, offset_[b]);
  }
  sections_.resize(model_.section_count);
  step_ = Step::kEnter;
  for (int32_t s = 0; s < model_.section_count; ++s) {
    sections_[s].waiting = model_.section_first[s + 1] - model_.section_first[s];
    if (!UpdateSection(s)) step_ = Step::kFailed;
  }
  if (model_.fixed_height > height_) step_ = Step::kFailed;
  trail_.clear();
  enter_begin_ = 0;
  enter_end_ = model_.section_count;
  enter_outside_ = {};
}

ExactOutcome ExactSearch::Run(int64_t units) {
  const int64_t end_units = spent_units_ + units;
  while (spent_units_ < end_units) {
    switch (step_) {
      case Step::kEnter:
        step_ = Enter();
        break;
      case Step::kSolved:
        if (frames_.empty()) return ExactOutcome::kFound;
        step_ = Solved();
        break;
      case Step::kFailed:
        if (frames_.empty()) return ExactOutcome::kRefuted;
        if (spent_units_ >= restart_at_units_) {
          run_units_ *= strategy_.restart_growth;
          for (double& weight : weight_) weight = 1 + (weight - 1) * kForget;
          for (int32_t b = 0; b < model_.block_count; ++b) {
            const double draw = static_cast<double>(random_() >> 11) * 0x1p-53;
            rank_[b] = strategy_.priorities[b] * (1 + strategy_.noise * (2 * draw - 1));
          }
          Restart();
          break;
        }
        step_ = Failed();
        break;
    }
  }
  return ExactOutcome::kUndecided;
}

// At sections [enter_begin_, enter_end_), where `enter_outside_` is the hash of all else.
ExactSearch::Step ExactSearch::Enter() {
  if (Split()) return Solved();
  if (enter_begin_ == enter_end_) return Step::kSolved;
  ++nodes_;
  const StateHash state = hash_ - enter_outside_;
  if (failed_states_.Contains(state)) return Step::kFailed;
  int32_t section = 0;
  if (!ChooseSection(&section)) return Step::kFailed;
  frames_.push_back({.is_split = false,
                     .begin_section = enter_begin_,
                     .end_section = enter_end_,
                     .section = section,
                     .first_choice = choices_.size(),
                     .next_choice = choices_.size(),
                     .trail_size = trail_.size(),
                     .outside = enter_outside_,
                     .state = state});
  ListChoices(section);
  return Failed();
}

// Narrows the range to what waits. Where it falls into several parts: a frame that lists them.
bool ExactSearch::Split() {
  while (enter_begin_ < enter_end_ && sections_[enter_begin_].rest == 0) ++enter_begin_;
  while (enter_begin_ < enter_end_ && sections_[enter_end_ - 1].rest == 0) --enter_end_;
  const size_t first = choices_.size();
  int32_t begin = enter_begin_, reach = enter_begin_;
  for (int32_t s = enter_begin_; s < enter_end_; ++s) {
    if (s >= reach) {
      if (sections_[s].rest == 0) continue;
      if (s > enter_begin_) choices_.push_back({begin, reach, {}});
      begin = s;
    }
    if (reach == enter_end_) break;
    for (const ExactModel::SectionEntry& entry : Live(s)) {
      if (IsWaiting(entry.block)) reach = std::max(reach, model_.end_section[entry.block]);
    }
    spent_units_ += static_cast<int64_t>(Live(s).size()) / 4;
  }
  if (choices_.size() == first) return false;
  choices_.push_back({begin, reach, {}});
  for (size_t i = first; i < choices_.size(); ++i) {
    for (int32_t s = choices_[i].block; s < choices_[i].end_section; ++s) {
      for (const ExactModel::SectionEntry& entry : Live(s)) {
        if (IsWaiting(entry.block) && model_.begin_section[entry.block] == s) {
          choices_[i].inside += HashWaiting(entry.block, offset_[entry.block]);
        }
      }
    }
  }
  // The part that failed most comes first: it is the likeliest to refute the whole.
  const auto failures = [&](const Choice& part) {
    return std::accumulate(weight_.begin() + part.block, weight_.begin() + part.end_section, 0.0);
  };
  std::sort(choices_.begin() + static_cast<std::ptrdiff_t>(first), choices_.end(),
            [&](const Choice& a, const Choice& b) { return failures(a) > failures(b); });
  frames_.push_back({.is_split = true,
                     .begin_section = enter_begin_,
                     .end_section = enter_end_,
                     .first_choice = first,
                     .next_choice = first,
                     .trail_size = trail_.size(),
                     .outside = enter_outside_});
  return true;
}

ExactSearch::Step ExactSearch::Solved() {
  Frame& frame = frames_.back();
  if (frame.is_split && frame.next_choice < choices_.size()) {
    const Choice& part = choices_[frame.next_choice++];
    enter_begin_ = part.block;
    enter_end_ = part.end_section;
    enter_outside_ = hash_ - part.inside;
    return Step::kEnter;
  }
  choices_.resize(frame.first_choice);
  frames_.pop_back();
  return Step::kSolved;
}

// Takes the next choice of the frame on top, or gives it up.
ExactSearch::Step ExactSearch::Failed() {
  Frame& frame = frames_.back();
  while (!frame.is_split && frame.next_choice < choices_.size()) {
    Undo(frame.trail_size);
    const Choice choice = choices_[frame.next_choice++];
    if (!Try(choice, frame.section)) continue;
    enter_begin_ = frame.begin_section;
    enter_end_ = frame.end_section;
    enter_outside_ = frame.outside;
    return Step::kEnter;
  }
  Undo(frame.trail_size);
  if (!frame.is_split) failed_states_.Add(frame.state);
  choices_.resize(frame.first_choice);
  frames_.pop_back();
  return Step::kFailed;
}

// No waiting block can end at or below the floor beside the blocks that can lie at it.
bool ExactSearch::IsReady(int32_t section) {
  const int64_t floor = sections_[section].floor;
  for (const ExactModel::SectionEntry& entry : Live(section)) {
    if (offset_[entry.block] != floor) continue;
    const absl::Span<const int32_t> covered = model_.SectionsOf(entry.block);
    spent_units_ += static_cast<int64_t>(covered.size()) / 4;
    for (const int32_t s : covered) {
      if (sections_[s].least_end <= floor) return false;
    }
  }
  return true;
}

// False where some section has no choice at all.
bool ExactSearch::ChooseSection(int32_t* chosen) {
  double best = 1e300;
  for (int32_t s = enter_begin_; s < enter_end_; ++s) {
    const Section& section = sections_[s];
    if (section.rest == 0) continue;
    const int64_t slack = height_ - section.floor - section.rest;
    const auto choices = static_cast<double>(section.at_floor + (slack > 0 ? 1 : 0));
    double score = 0;
    switch (strategy_.section_choice) {
      case SectionChoice::kFewestPerFailure:
        score = choices / weight_[s];
        break;
      case SectionChoice::kLowest:
        score = static_cast<double>(section.floor) + choices / (weight_[s] * 1e3);
        break;
      case SectionChoice::kTightest:
        score = (static_cast<double>(slack) + choices) / weight_[s];
        break;
      case SectionChoice::kFirstRanked: {
        double rank = -1e300;
        for (const ExactModel::SectionEntry& entry : Live(s)) {
          if (offset_[entry.block] == section.floor) rank = std::max(rank, rank_[entry.block]);
        }
        score = 1e20 - rank + choices/weight_[s];
        if (choices == 1) score = 1;
        break;
      }
    }
    if (choices == 1) score *= 1e-9;
    if (score < best && IsReady(s)) {
      best = score;
      *chosen = s;
    }
  }
  spent_units_ += enter_end_ - enter_begin_;
  return best < 1e300;
}

void ExactSearch::ListChoices(int32_t section) {
  const size_t first = choices_.size();
  for (const ExactModel::SectionEntry& entry : Live(section)) {
    const int32_t b = entry.block;
    if (offset_[b] != sections_[section].floor) continue;
    const int32_t twin = model_.twin_before[b];
    if (twin != kNone && offset_[twin] == offset_[b]) continue;
    choices_.push_back({b, 0, {}});
  }
  std::sort(choices_.begin() + static_cast<std::ptrdiff_t>(first), choices_.end(),
            [&](const Choice& a, const Choice& b) {
              return rank_[a.block] != rank_[b.block] ? rank_[a.block] > rank_[b.block]
                                                      : a.block < b.block;
            });
  if (sections_[section].floor + sections_[section].rest < height_) {
    choices_.push_back({kNone, section, {}});
  }
}

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
  trail_.push_back({block, kPlaced, {offset}});
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
    if (offset_[entry.block] < next &&
        !Raise(entry.block, model_.FitAtLeast(entry.block, next))) {
      return false;
    }
  }
  return true;
}

bool ExactSearch::Raise(int32_t block, int64_t offset) {
  if (offset + model_.size[block] > height_) {
    for (const int32_t s : model_.SectionsOf(block)) weight_[s] += 0.1;
    return false;
  }
  trail_.push_back({block, kOffset, {offset_[block]}});
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
    trail_.push_back({s, kSection, {old.floor, old.least_end, old.rest, old.at_floor,
                                 old.waiting}});

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
      case kOffset:
        hash_ -= HashWaiting(saved.index, offset_[saved.index]);
        offset_[saved.index] = saved.values[0];
        hash_ += HashWaiting(saved.index, saved.values[0]);
        break;
      case kPlaced:
        offset_[saved.index] = saved.values[0];
        hash_ += HashWaiting(saved.index, saved.values[0]);
        break;
      case kSection:
        sections_[saved.index] = {saved.values[0], saved.values[1], saved.values[2],
                                  static_cast<int32_t>(saved.values[3]),
                                  static_cast<int32_t>(saved.values[4])};
        break;
    }
    trail_.pop_back();
  }
}

}  // namespace berth
