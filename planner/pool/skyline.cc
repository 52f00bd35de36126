#include "planner/pool/skyline.h"

#include <algorithm>

namespace berth {
namespace {

int64_t AlignUpToPowerOfTwo(int64_t value, int64_t alignment) {
  return (value + alignment - 1) & -alignment;
}

bool Meet(const BlockPart& a, const BlockPart& b) {
  return a.begin_section < b.end_section && b.begin_section < a.end_section;
}

}  // namespace

SkylinePlacer::SkylinePlacer(const BlockSet& set) : set_(set), loads_(SectionLoads(set)) {
  rest_ = loads_;
  for (const Block& block : set.blocks) initial_rest_.push_back(RestBytes(block));
}

int64_t SkylinePlacer::RestBytes(const Block& block) const {
  int64_t most_bytes = 0;
  for (const BlockPart& part : set_.Parts(block)) {
    for (int32_t k = part.begin_section; k < part.end_section; ++k) {
      most_bytes = std::max(most_bytes, rest_[k]);
    }
  }
  return most_bytes;
}

void SkylinePlacer::Reset() {
  rest_ = loads_;
  waiting_.clear();
  lowest_end_bytes_ = kUnlimitedBytes;
  for (size_t i = 0; i < set_.blocks.size(); ++i) {
    const Block& block = set_.blocks[i];
    waiting_.push_back({0, block.size_bytes, block.alignment_bytes, initial_rest_[i],
                        block.begin_section, block.end_section, static_cast<int32_t>(i),
                        block.part_count == 1, false});
    lowest_end_bytes_ = std::min(lowest_end_bytes_, block.size_bytes);
  }
}

// Exact only above `enough_bytes`: what is to come only shrinks, so a stale need is never too low.
int64_t SkylinePlacer::Need(Waiting* waiting, int64_t enough_bytes) {
  if (waiting->is_stale && waiting->offset_bytes + waiting->rest_bytes > enough_bytes) {
    waiting->rest_bytes = RestBytes(set_.blocks[waiting->block]);
    waiting->is_stale = false;
    work_units_ += (waiting->end_section - waiting->begin_section) / 4;
  }
  return waiting->offset_bytes + waiting->rest_bytes;
}

size_t SkylinePlacer::ChooseNext(absl::Span<const double> priorities, int64_t goal_bytes) {
  size_t best = waiting_.size();
  int64_t best_need_bytes = 0;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    Waiting& candidate = waiting_[i];
    if (candidate.offset_bytes >= lowest_end_bytes_) continue;
    const int64_t need_bytes = std::max(Need(&candidate, goal_bytes), goal_bytes);
    if (best < waiting_.size()) {
      const Waiting& other = waiting_[best];
      if (need_bytes > best_need_bytes) continue;
      if (need_bytes == best_need_bytes) {
        if (candidate.offset_bytes > other.offset_bytes) continue;
        if (candidate.offset_bytes == other.offset_bytes) {
          const double mine = priorities[candidate.block], its = priorities[other.block];
          if (mine < its || (mine == its && candidate.block > other.block)) continue;
        }
      }
    }
    best = i;
    best_need_bytes = need_bytes;
  }
  return best;
}

void SkylinePlacer::RaiseAbove(const Waiting& placed, Waiting* waiting) const {
  int64_t end_bytes = 0;
  if (placed.has_one_part && waiting->has_one_part) {
    end_bytes = placed.offset_bytes + placed.size_bytes;
  } else {
    for (const BlockPart& below : set_.Parts(set_.blocks[placed.block])) {
      for (const BlockPart& above : set_.Parts(set_.blocks[waiting->block])) {
        if (!Meet(below, above)) continue;
        end_bytes = std::max(end_bytes, placed.offset_bytes + below.size_bytes);
      }
    }
  }
  waiting->is_stale = true;
  waiting->offset_bytes =
      std::max(waiting->offset_bytes, AlignUpToPowerOfTwo(end_bytes, waiting->alignment_bytes));
}

void SkylinePlacer::Put(const Waiting& placed) {
  for (const BlockPart& part : set_.Parts(set_.blocks[placed.block])) {
    for (int32_t k = part.begin_section; k < part.end_section; ++k) rest_[k] -= part.size_bytes;
  }
  lowest_end_bytes_ = kUnlimitedBytes;
  for (Waiting& waiting : waiting_) {
    if (waiting.begin_section < placed.end_section && placed.begin_section < waiting.end_section) {
      RaiseAbove(placed, &waiting);
    }
    lowest_end_bytes_ = std::min(lowest_end_bytes_, waiting.offset_bytes + waiting.size_bytes);
  }
  work_units_ += 2 * static_cast<int64_t>(waiting_.size());
}

Trial SkylinePlacer::Place(absl::Span<const double> priorities, int64_t goal_bytes,
                           int64_t limit_bytes, WorkBudget* budget) {
  Trial trial;
  trial.offset_bytes.assign(set_.blocks.size(), 0);
  work_units_ = static_cast<int64_t>(set_.blocks.size());
  Reset();
  while (!waiting_.empty()) {
    const size_t next = ChooseNext(priorities, goal_bytes);
    if (Need(&waiting_[next], limit_bytes) > limit_bytes) {
      for (Waiting& waiting : waiting_) {
        if (Need(&waiting, limit_bytes) <= limit_bytes) continue;
        trial.blocked_blocks.push_back(waiting.block);
      }
      budget->Spend(work_units_);
      return trial;
    }
    const Waiting placed = waiting_[next];
    waiting_[next] = waiting_.back();
    waiting_.pop_back();
    trial.offset_bytes[placed.block] = placed.offset_bytes;
    Put(placed);
  }
  budget->Spend(work_units_);
  trial.is_complete = true;
  trial.height_bytes = HeightBytes(set_, trial.offset_bytes);
  return trial;
}

}  // namespace berth
