#include "planner/pool/greedy.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/checked_math.h"
#include "planner/pool/occupancy.h"

namespace berth {
namespace {

class GreedyPlacer {
 public:
  GreedyPlacer(const BlockSet& set, FitPolicy policy, WorkBudget* budget)
      : set_(set), policy_(policy), budget_(*budget), occupancy_(set.SectionCount()) {}

  int64_t ChooseOffset(const Block& block) {
    CollectForbidden(block);
    int64_t free_bytes = 0;  // everything below is taken or passed over
    int64_t best_bytes = kNoOffset, best_slack_bytes = 0;
    for (const ByteRange& forbidden : forbidden_) {
      const int64_t offset_bytes = AlignUp(free_bytes, block.alignment_bytes);
      const int64_t slack_bytes = forbidden.begin_bytes - offset_bytes;
      if (slack_bytes >= 0 && (best_bytes == kNoOffset || slack_bytes < best_slack_bytes)) {
        best_bytes = offset_bytes;
        best_slack_bytes = slack_bytes;
        if (policy_ == FitPolicy::kFirstFit || slack_bytes == 0) break;
      }
      free_bytes = std::max(free_bytes, forbidden.end_bytes);
    }
    return best_bytes != kNoOffset ? best_bytes : AlignUp(free_bytes, block.alignment_bytes);
  }

  void Occupy(const Block& block, int64_t offset_bytes) {
    for (const BlockPart& part : set_.Parts(block)) {
      occupancy_.Add(part.begin_section, part.end_section,
                     {offset_bytes, offset_bytes + part.size_bytes});
    }
  }

 private:
  // Open ranges of offsets at which some part of the block would meet taken bytes: what lies
  // between the last offset that ends below the bytes and the first that begins above them.
  void CollectForbidden(const Block& block) {
    forbidden_.clear();
    for (const BlockPart& part : set_.Parts(block)) {
      const size_t first = forbidden_.size();
      occupancy_.Collect(part.begin_section, part.end_section, &forbidden_);
      for (size_t i = first; i < forbidden_.size(); ++i) {
        forbidden_[i].begin_bytes -= part.size_bytes;
      }
    }
    budget_.Spend(16 + 4 * static_cast<int64_t>(forbidden_.size()));
    std::sort(forbidden_.begin(), forbidden_.end(),
              [](const ByteRange& a, const ByteRange& b) { return a.begin_bytes < b.begin_bytes; });
  }

  const BlockSet& set_;
  const FitPolicy policy_;
  WorkBudget& budget_;
  Occupancy occupancy_;
  std::vector<ByteRange> forbidden_;
};

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

Trial PlaceGreedily(const BlockSet& set, absl::Span<const int32_t> sequence, FitPolicy policy,
                    int64_t limit_bytes, WorkBudget* budget) {
  Trial trial;
  trial.offset_bytes.assign(set.blocks.size(), kNoOffset);
  GreedyPlacer placer(set, policy, budget);
  for (size_t i = 0; i < set.blocks.size(); ++i) {
    const Block& block = set.blocks[i];
    if (block.fixed_offset_bytes == kNoOffset) continue;
    trial.offset_bytes[i] = block.fixed_offset_bytes;
    trial.height_bytes = std::max(trial.height_bytes, block.fixed_offset_bytes + block.size_bytes);
    placer.Occupy(block, block.fixed_offset_bytes);
  }
  for (int32_t index : sequence) {
    const Block& block = set.blocks[index];
    if (block.fixed_offset_bytes != kNoOffset) continue;
    const int64_t offset_bytes = placer.ChooseOffset(block);
    if (offset_bytes + block.size_bytes > limit_bytes) {
      trial.blocked_blocks = {index};
      return trial;
    }
    trial.offset_bytes[index] = offset_bytes;
    trial.height_bytes = std::max(trial.height_bytes, offset_bytes + block.size_bytes);
    placer.Occupy(block, offset_bytes);
  }
  trial.is_complete = true;
  return trial;
}

}  // namespace berth
