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
  section_rest_ = loads_;
  for (size_t i = 0; i < set.blocks.size(); ++i) {
    const Block& block = set.blocks[i];
    all_.offset_bytes.push_back(0);
    all_.size_bytes.push_back(block.size_bytes);
    all_.alignment_bytes.push_back(block.alignment_bytes);
    all_.begin_section.push_back(block.begin_section);
    all_.end_section.push_back(block.end_section);
    all_.block.push_back(static_cast<int32_t>(i));
    all_.rest_bytes.push_back(RestBytes(block));
    all_.is_stale.push_back(0);
    has_one_part_each_ = has_one_part_each_ && block.part_count == 1;
  }
}

int64_t SkylinePlacer::RestBytes(const Block& block) const {
  int64_t most_bytes = 0;
  for (const BlockPart& part : set_.Parts(block)) {
    for (int32_t k = part.begin_section; k < part.end_section; ++k) {
      most_bytes = std::max(most_bytes, section_rest_[k]);
    }
  }
  return most_bytes;
}

void SkylinePlacer::Reset() {
  section_rest_ = loads_;
  waiting_ = all_;
  work_units_ = static_cast<int64_t>(set_.blocks.size());
}

// Exact only above `enough_bytes`: what is to come only shrinks, so a stale need is never too low.
int64_t SkylinePlacer::Need(size_t waiting, int64_t enough_bytes) {
  const int64_t offset_bytes = waiting_.offset_bytes[waiting];
  int64_t& rest_bytes = waiting_.rest_bytes[waiting];
  if (waiting_.is_stale[waiting] && offset_bytes + rest_bytes > enough_bytes) {
    rest_bytes = RestBytes(set_.blocks[waiting_.block[waiting]]);
    waiting_.is_stale[waiting] = 0;
    work_units_ += (waiting_.end_section[waiting] - waiting_.begin_section[waiting]) / 4;
  }
  return offset_bytes + rest_bytes;
}

void SkylinePlacer::ListCandidates() {
  const size_t count = waiting_.block.size();
  int64_t lowest_end_bytes = kUnlimitedBytes;
  for (size_t i = 0; i < count; ++i) {
    lowest_end_bytes =
        std::min(lowest_end_bytes, waiting_.offset_bytes[i] + waiting_.size_bytes[i]);
  }
  candidates_.resize(count);
  size_t listed = 0;
  for (size_t i = 0; i < count; ++i) {
    candidates_[listed] = static_cast<uint32_t>(i);
    listed += waiting_.offset_bytes[i] < lowest_end_bytes ? 1 : 0;
  }
  candidates_.resize(listed);
  work_units_ += static_cast<int64_t>(count + listed);
}

size_t SkylinePlacer::ChooseNext(absl::Span<const double> priorities, int64_t goal_bytes) {
  ListCandidates();
  size_t best = candidates_.front();
  int64_t best_need_bytes = kUnlimitedBytes;
  for (uint32_t i : candidates_) {
    const int64_t need_bytes = std::max(Need(i, goal_bytes), goal_bytes);
    if (need_bytes > best_need_bytes) continue;
    if (need_bytes == best_need_bytes) {
      const int64_t above_bytes = waiting_.offset_bytes[i] - waiting_.offset_bytes[best];
      if (above_bytes > 0) continue;
      const double mine = priorities[waiting_.block[i]], its = priorities[waiting_.block[best]];
      if (above_bytes == 0 && mine < its) continue;
      if (above_bytes == 0 && mine == its && waiting_.block[i] > waiting_.block[best]) continue;
    }
    best = i;
    best_need_bytes = need_bytes;
  }
  return best;
}

void SkylinePlacer::Remove(size_t waiting) {
  const auto take_last = [&](auto& values) {
    values[waiting] = values.back();
    values.pop_back();
  };
  take_last(waiting_.offset_bytes);
  take_last(waiting_.size_bytes);
  take_last(waiting_.alignment_bytes);
  take_last(waiting_.begin_section);
  take_last(waiting_.end_section);
  take_last(waiting_.block);
  take_last(waiting_.rest_bytes);
  take_last(waiting_.is_stale);
}

// The waiting blocks that meet the placed one now lie on top of it. Without branches: which blocks
// meet is hard to predict.
void SkylinePlacer::Raise(const Block& placed, int64_t offset_bytes) {
  const int64_t end_bytes = offset_bytes + placed.size_bytes;
  const size_t count = waiting_.block.size();
  for (size_t i = 0; i < count; ++i) {
    const bool meets = (waiting_.begin_section[i] < placed.end_section) &
                       (placed.begin_section < waiting_.end_section[i]);
    const int64_t raised_bytes = std::max(
        waiting_.offset_bytes[i], AlignUpToPowerOfTwo(end_bytes, waiting_.alignment_bytes[i]));
    waiting_.offset_bytes[i] = meets ? raised_bytes : waiting_.offset_bytes[i];
    waiting_.is_stale[i] |= static_cast<uint8_t>(meets);
  }
}

void SkylinePlacer::RaiseByParts(const Block& placed, int64_t offset_bytes) {
  for (size_t i = 0; i < waiting_.block.size(); ++i) {
    if (waiting_.begin_section[i] >= placed.end_section ||
        placed.begin_section >= waiting_.end_section[i]) {
      continue;
    }
    int64_t end_bytes = 0;
    for (const BlockPart& below : set_.Parts(placed)) {
      for (const BlockPart& above : set_.Parts(set_.blocks[waiting_.block[i]])) {
        if (Meet(below, above)) end_bytes = std::max(end_bytes, offset_bytes + below.size_bytes);
      }
    }
    waiting_.offset_bytes[i] = std::max(
        waiting_.offset_bytes[i], AlignUpToPowerOfTwo(end_bytes, waiting_.alignment_bytes[i]));
    waiting_.is_stale[i] = 1;
  }
}

std::vector<int32_t> SkylinePlacer::BlocksAbove(int64_t limit_bytes) {
  std::vector<int32_t> blocks;
  for (size_t i = 0; i < waiting_.block.size(); ++i) {
    if (Need(i, limit_bytes) > limit_bytes) blocks.push_back(waiting_.block[i]);
  }
  return blocks;
}

Trial SkylinePlacer::Place(absl::Span<const double> priorities, int64_t goal_bytes,
                           int64_t limit_bytes, WorkBudget* budget) {
  Trial trial;
  trial.offset_bytes.assign(set_.blocks.size(), 0);
  Reset();
  while (!waiting_.block.empty()) {
    const size_t next = ChooseNext(priorities, goal_bytes);
    if (Need(next, limit_bytes) > limit_bytes) {
      trial.blocked_blocks = BlocksAbove(limit_bytes);
      budget->Spend(work_units_);
      return trial;
    }
    const int32_t index = waiting_.block[next];
    const int64_t offset_bytes = waiting_.offset_bytes[next];
    trial.offset_bytes[index] = offset_bytes;
    Remove(next);
    const Block& placed = set_.blocks[index];
    for (const BlockPart& part : set_.Parts(placed)) {
      for (int32_t k = part.begin_section; k < part.end_section; ++k) {
        section_rest_[k] -= part.size_bytes;
      }
    }
    if (has_one_part_each_) {
      Raise(placed, offset_bytes);
    } else {
      RaiseByParts(placed, offset_bytes);
    }
    work_units_ += static_cast<int64_t>(waiting_.block.size());
  }
  budget->Spend(work_units_);
  trial.is_complete = true;
  trial.height_bytes = HeightBytes(set_, trial.offset_bytes);
  return trial;
}

}  // namespace berth
