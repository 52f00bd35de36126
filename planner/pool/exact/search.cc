#include "planner/pool/exact/search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace berth {
namespace {

constexpr size_t kLargestTable = size_t{1} << 17;
constexpr size_t kStatesPerBlock = 1024;
constexpr double kForget = 0.98;   // of what failures weigh, at each restart
constexpr double kTieScale = 1e3;  // below the difference of two floors
constexpr double kForced = 1e-9;   // a section with one choice comes first

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

// What the next run does differently.
void ExactSearch::Shuffle() {
  run_units_ *= strategy_.restart_growth;
  for (double& weight : weight_) weight = 1 + (weight - 1) * kForget;
  for (int32_t b = 0; b < model_.block_count; ++b) {
    const double draw = static_cast<double>(random_() >> 11) * 0x1p-53;
    rank_[b] = strategy_.priorities[b] * (1 + strategy_.noise * (2 * draw - 1));
  }
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
        if (spent_units_ < restart_at_units_) {
          step_ = Failed();
        } else {
          Shuffle();
          Restart();
        }
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

double ExactSearch::Score(int32_t s, double choices) const {
  const Section& section = sections_[s];
  switch (strategy_.section_choice) {
    case SectionChoice::kFewestPerFailure:
      return choices / weight_[s];
    case SectionChoice::kLowest:
      return static_cast<double>(section.floor) + choices / (weight_[s] * kTieScale);
    case SectionChoice::kTightest:
      return (static_cast<double>(height_ - section.floor - section.rest) + choices) / weight_[s];
    case SectionChoice::kEarliest:
      return static_cast<double>(s + 1);
  }
  return 0;
}

// False where nothing waits.
bool ExactSearch::ChooseSection(int32_t* chosen) {
  double best = std::numeric_limits<double>::infinity();
  for (int32_t s = enter_begin_; s < enter_end_; ++s) {
    const Section& section = sections_[s];
    if (section.rest == 0) continue;
    const int64_t slack = height_ - section.floor - section.rest;
    const auto choices = static_cast<double>(section.at_floor + (slack > 0 ? 1 : 0));
    double score = Score(s, choices);
    if (choices == 1) score *= kForced;
    if (score < best && IsReady(s)) {
      best = score;
      *chosen = s;
    }
  }
  spent_units_ += enter_end_ - enter_begin_;
  return best < std::numeric_limits<double>::infinity();
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

}  // namespace berth
