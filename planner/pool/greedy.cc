#include "planner/pool/greedy.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/checked_math.h"

namespace berth {
namespace {

// Measured: walking and updating the tree, and sorting and scanning one range.
constexpr int64_t kUnitsBetweenQuestions = 500'000;
constexpr int64_t kUnitsPerBlock = 128;
constexpr int64_t kUnitsPerRange = 4;

int32_t LongestPart(const BlockSet& set) {
  int32_t longest = 0;
  for (const BlockPart& part : set.parts) {
    longest = std::max(longest, part.end_section - part.begin_section);
  }
  return longest;
}

}  // namespace

std::vector<int32_t> SequenceBlocks(absl::Span<const double> primary,
                                    absl::Span<const double> secondary) {
  std::vector<int32_t> sequence(primary.size());
  std::iota(sequence.begin(), sequence.end(), 0);
  std::sort(sequence.begin(), sequence.end(), [&](int32_t a, int32_t b) {
    return std::make_tuple(-primary[a], -secondary[a], a) <
           std::make_tuple(-primary[b], -secondary[b], b);
  });
  return sequence;
}

GreedyPlacer::GreedyPlacer(const BlockSet& set)
    : set_(set), occupancy_(set.SectionCount(), LongestPart(set)) {}

// Open ranges of offsets at which some part of the block would meet taken bytes: what lies between
// the last offset that ends below the bytes and the first that begins above them.
void GreedyPlacer::CollectForbidden(const Block& block) {
  forbidden_.clear();
  for (const BlockPart& part : set_.Parts(block)) {
    const size_t first = forbidden_.size();
    occupancy_.Collect(part.begin_section, part.end_section, &forbidden_);
    for (size_t i = first; i < forbidden_.size(); ++i) forbidden_[i].begin_bytes -= part.size_bytes;
  }
  work_units_ += kUnitsPerBlock + kUnitsPerRange * static_cast<int64_t>(forbidden_.size());
  std::sort(forbidden_.begin(), forbidden_.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin_bytes < b.begin_bytes; });
}

int64_t GreedyPlacer::ChooseOffset(const Block& block, FitPolicy policy) {
  CollectForbidden(block);
  int64_t free_bytes = 0;  // everything below is taken or passed over
  int64_t best_bytes = kNoOffset, best_slack_bytes = 0;
  for (const ByteRange& forbidden : forbidden_) {
    const int64_t offset_bytes = AlignUp(free_bytes, block.alignment_bytes);
    const int64_t slack_bytes = forbidden.begin_bytes - offset_bytes;
    if (slack_bytes >= 0 && (best_bytes == kNoOffset || slack_bytes < best_slack_bytes)) {
      best_bytes = offset_bytes;
      best_slack_bytes = slack_bytes;
      if (policy == FitPolicy::kFirstFit || slack_bytes == 0) break;
    }
    free_bytes = std::max(free_bytes, forbidden.end_bytes);
  }
  return best_bytes != kNoOffset ? best_bytes : AlignUp(free_bytes, block.alignment_bytes);
}

void GreedyPlacer::Put(int32_t index, int64_t offset_bytes, Trial* trial) {
  const Block& block = set_.blocks[index];
  for (const BlockPart& part : set_.Parts(block)) {
    occupancy_.Add(part.begin_section, part.end_section,
                   {offset_bytes, offset_bytes + part.size_bytes});
  }
  trial->offset_bytes[index] = offset_bytes;
  trial->height_bytes = std::max(trial->height_bytes, offset_bytes + block.size_bytes);
}

Trial GreedyPlacer::Place(absl::Span<const int32_t> sequence, FitPolicy policy, int64_t limit_bytes,
                          WorkBudget* budget) {
  Trial trial;
  trial.offset_bytes.assign(set_.blocks.size(), kNoOffset);
  occupancy_.Clear();
  work_units_ = 0;
  for (size_t i = 0; i < set_.blocks.size(); ++i) {
    const int64_t fixed_bytes = set_.blocks[i].fixed_offset_bytes;
    if (fixed_bytes != kNoOffset) Put(static_cast<int32_t>(i), fixed_bytes, &trial);
  }
  int64_t asked_units = 0;
  for (int32_t index : sequence) {
    if (may_stop_ && work_units_ - asked_units > kUnitsBetweenQuestions) {
      asked_units = work_units_;
      if (budget->IsStopped()) return trial;
    }
    const Block& block = set_.blocks[index];
    if (block.fixed_offset_bytes != kNoOffset) continue;
    const int64_t offset_bytes = ChooseOffset(block, policy);
    if (offset_bytes + block.size_bytes > limit_bytes) {
      trial.blocked_blocks = {index};
      break;
    }
    Put(index, offset_bytes, &trial);
  }
  budget->Spend(work_units_);
  trial.is_complete = trial.blocked_blocks.empty();
  return trial;
}

}  // namespace berth
