#include "planner/pool/reuse_distance.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/checked_math.h"
#include "planner/pool/address_map.h"
#include "planner/pool/greedy.h"
#include "planner/pool/measures.h"

namespace berth {
namespace {

constexpr int64_t kAsLongAsPossible = std::numeric_limits<int64_t>::max();
constexpr int64_t kEnoughSteps[] = {kAsLongAsPossible, 64, 16, 4, 1};
constexpr uint8_t kTightest = std::size(kEnoughSteps) - 1;
constexpr int kMostSweeps = 96;  // of which each packs tighter where the one before failed
// Bytes that have rested so long make nobody wait: then other banks are worth more than more rest.
constexpr int64_t kRestedSteps = 16;
constexpr double kLongFactor = 8;  // a block this many times longer than the median is long

// Blocks placed before the sweep; the sweep goes around them.
struct Pinned {
  std::vector<int64_t> offset_bytes;  // by block; kNoOffset where the sweep decides
  std::vector<int32_t> by_begin;      // the pinned blocks in order of time
};

Pinned MakePinned(const BlockSet& set, std::vector<int64_t> offset_bytes) {
  Pinned pinned = {std::move(offset_bytes), {}};
  for (size_t i = 0; i < set.blocks.size(); ++i) {
    if (pinned.offset_bytes[i] != kNoOffset) pinned.by_begin.push_back(static_cast<int32_t>(i));
  }
  std::stable_sort(pinned.by_begin.begin(), pinned.by_begin.end(), [&](int32_t a, int32_t b) {
    return set.blocks[a].begin_section < set.blocks[b].begin_section;
  });
  return pinned;
}

class ReuseSweep {
 public:
  ReuseSweep(const BlockSet& set, const Pinned& pinned, int64_t capacity_bytes)
      : set_(set), pinned_(pinned), map_(capacity_bytes), capacity_bytes_(capacity_bytes) {}

  // `tightness`: by block, a position in kEnoughSteps.
  Trial Run(const std::vector<uint8_t>& tightness, WorkBudget* budget) {
    Trial trial;
    trial.offset_bytes = pinned_.offset_bytes;
    for (int32_t index : BlocksByBegin()) {
      int64_t& offset_bytes = trial.offset_bytes[index];
      budget->Spend(map_.SegmentCount());
      if (offset_bytes == kNoOffset) {
        offset_bytes = FindOffset(index, kEnoughSteps[tightness[index]], trial.offset_bytes);
      }
      const int64_t end_bytes = offset_bytes + set_.blocks[index].size_bytes;
      if (offset_bytes == kNoOffset || end_bytes > capacity_bytes_) {
        trial.blocked_blocks = {index};
        return trial;
      }
      Use({offset_bytes, end_bytes}, index);
      trial.height_bytes = std::max(trial.height_bytes, end_bytes);
    }
    trial.is_complete = true;
    return trial;
  }

 private:
  bool IsPinned(int32_t index) const { return pinned_.offset_bytes[index] != kNoOffset; }

  // The outlines of pinned alias groups may overlap (only their parts do not): the byte is free
  // when the last of them ends.
  void Use(ByteRange bytes, int32_t index) {
    const int64_t end_step = set_.section_steps[set_.blocks[index].end_section];
    std::vector<AddressMap::Segment> longer;
    for (const AddressMap::Segment& segment : map_.Over(bytes)) {
      if (segment.free_step > end_step) longer.push_back(segment);
    }
    map_.Use(bytes, end_step, index);
    for (const AddressMap::Segment& segment : longer) {
      map_.Use({std::max(segment.begin_bytes, bytes.begin_bytes),
                std::min(segment.end_bytes, bytes.end_bytes)},
               segment.free_step, segment.owner);
    }
  }

  // Pinned blocks first, so that they are known to be in use when others begin; large ones next.
  std::vector<int32_t> BlocksByBegin() const {
    std::vector<int32_t> sequence(set_.blocks.size());
    std::iota(sequence.begin(), sequence.end(), 0);
    const auto key = [&](int32_t index) {
      const Block& block = set_.blocks[index];
      return std::make_tuple(block.begin_section, !IsPinned(index), -block.size_bytes, index);
    };
    std::sort(sequence.begin(), sequence.end(),
              [&](int32_t a, int32_t b) { return key(a) < key(b); });
    return sequence;
  }

  int64_t FindOffset(int32_t index, int64_t enough_steps, absl::Span<const int64_t> offset_bytes) {
    const Block& block = set_.blocks[index];
    CollectPinnedLater(block);
    const int64_t now_step = set_.section_steps[block.begin_section];
    const int64_t old_step =
        enough_steps == kAsLongAsPossible ? kNeverUsedStep : now_step - enough_steps;
    const auto find = [&] {
      return map_.FindWindow({block.size_bytes, block.alignment_bytes, now_step, old_step, avoid_});
    };
    const int64_t anywhere = find();
    if (anywhere == kNoOffset) return anywhere;
    const size_t pinned_count = avoid_.size();
    AvoidBanksUsedWith(index, offset_bytes);
    const int64_t rested_step =
        std::max(LatestUseStep(anywhere, block.size_bytes), now_step - kRestedSteps);
    for (; avoid_.size() > pinned_count; avoid_.pop_back()) {
      const int64_t apart = find();
      if (apart != kNoOffset && LatestUseStep(apart, block.size_bytes) <= rested_step) return apart;
    }
    return anywhere;
  }

  int64_t LatestUseStep(int64_t offset_bytes, int64_t size_bytes) const {
    int64_t latest_step = kNeverUsedStep;
    for (const AddressMap::Segment& segment :
         map_.Over({offset_bytes, offset_bytes + size_bytes})) {
      latest_step = std::max(latest_step, segment.free_step);
    }
    return latest_step;
  }

  // Adds the banks of blocks that are used with this one, those of the largest last: they are the
  // first to be given up.
  void AvoidBanksUsedWith(int32_t index, absl::Span<const int64_t> offset_bytes) {
    if (set_.bank_bytes <= 0) return;
    const auto begin = static_cast<ptrdiff_t>(avoid_.size());
    for (const int32_t other : set_.used_with[index]) {
      const int64_t begin_bytes = offset_bytes[other];
      if (begin_bytes == kNoOffset) continue;
      const int64_t end_bytes = begin_bytes + set_.blocks[other].size_bytes;
      avoid_.push_back(
          {begin_bytes / set_.bank_bytes * set_.bank_bytes, AlignUp(end_bytes, set_.bank_bytes)});
    }
    const auto size_of = [](const ByteRange& range) { return range.end_bytes - range.begin_bytes; };
    std::stable_sort(
        avoid_.begin() + begin, avoid_.end(),
        [&](const ByteRange& a, const ByteRange& b) { return size_of(a) < size_of(b); });
  }

  // Bytes of pinned blocks that begin while `block` is live.
  void CollectPinnedLater(const Block& block) {
    const auto begin_of = [&](size_t k) { return set_.blocks[pinned_.by_begin[k]].begin_section; };
    while (next_pinned_ < pinned_.by_begin.size() &&
           begin_of(next_pinned_) <= block.begin_section) {
      ++next_pinned_;
    }
    avoid_.clear();
    for (size_t k = next_pinned_; k < pinned_.by_begin.size() && begin_of(k) < block.end_section;
         ++k) {
      const int32_t index = pinned_.by_begin[k];
      const int64_t offset_bytes = pinned_.offset_bytes[index];
      avoid_.push_back({offset_bytes, offset_bytes + set_.blocks[index].size_bytes});
    }
  }

  const BlockSet& set_;
  const Pinned& pinned_;
  AddressMap map_;
  const int64_t capacity_bytes_;
  size_t next_pinned_ = 0;
  std::vector<ByteRange> avoid_;
};

std::vector<int64_t> FixedOffsets(const BlockSet& set) {
  std::vector<int64_t> offsets;
  for (const Block& block : set.blocks) offsets.push_back(block.fixed_offset_bytes);
  return offsets;
}

// The long-lived blocks, packed at the bottom by themselves; none where they do not fit.
std::vector<int64_t> PackLongBlocks(const BlockSet& set, int64_t capacity_bytes,
                                    WorkBudget* budget) {
  const std::vector<double> lengths = MeasureBlocks(set, BlockMeasure::kLength);
  std::vector<double> sorted = lengths;
  std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2, sorted.end());
  const double long_steps = kLongFactor * sorted[sorted.size() / 2];
  std::vector<int32_t> sequence = SequenceBlocks(lengths, MeasureBlocks(set, BlockMeasure::kSize));
  std::erase_if(sequence, [&](int32_t index) { return lengths[index] < long_steps; });
  Trial trial = GreedyPlacer(set).Place(sequence, FitPolicy::kBestFit, capacity_bytes, budget);
  return trial.is_complete ? trial.offset_bytes : FixedOffsets(set);
}

// Packs tighter what lives beside the block, and what lives beside that at its beginning. False
// where nothing can be tighter.
bool Tighten(const BlockSet& set, const Block& blocked, std::vector<uint8_t>& tightness) {
  int32_t begin_section = blocked.begin_section;
  for (const Block& block : set.blocks) {
    if (block.begin_section <= blocked.begin_section && block.end_section > blocked.begin_section) {
      begin_section = std::min(begin_section, block.begin_section);
    }
  }
  bool is_tighter = false;
  for (size_t i = 0; i < set.blocks.size(); ++i) {
    const Block& block = set.blocks[i];
    const bool is_near =
        block.begin_section < blocked.end_section && block.end_section > begin_section;
    if (!is_near || tightness[i] == kTightest) continue;
    ++tightness[i];
    is_tighter = true;
  }
  return is_tighter;
}

}  // namespace

Trial PlaceForReuse(const BlockSet& set, int64_t capacity_bytes, WorkBudget* budget) {
  if (set.blocks.empty()) return {.is_complete = true};
  const Pinned fixed_only = MakePinned(set, FixedOffsets(set));
  const Pinned long_first = MakePinned(set, PackLongBlocks(set, capacity_bytes, budget));
  Trial trial;
  for (const Pinned* pinned : {&fixed_only, &long_first}) {
    if (pinned == &long_first && long_first.by_begin == fixed_only.by_begin) continue;
    std::vector<uint8_t> tightness(set.blocks.size(), 0);
    for (int sweep = 0; sweep < kMostSweeps && !budget->IsExhausted(); ++sweep) {
      trial = ReuseSweep(set, *pinned, capacity_bytes).Run(tightness, budget);
      if (trial.is_complete) return trial;
      if (!Tighten(set, set.blocks[trial.blocked_blocks[0]], tightness)) break;
    }
  }
  return trial;
}

PoolReuse MeasureReuse(const BlockSet& set, absl::Span<const int64_t> block_offsets) {
  struct Use {
    BlockPart part;
    int32_t block;
  };
  std::vector<Use> uses;
  for (size_t i = 0; i < set.blocks.size(); ++i) {
    for (const BlockPart& part : set.Parts(set.blocks[i])) {
      uses.push_back({part, static_cast<int32_t>(i)});
    }
  }
  std::stable_sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
    return a.part.begin_section < b.part.begin_section;
  });
  PoolReuse reuse;
  AddressMap map(HeightBytes(set, block_offsets));
  double total_steps = 0;
  for (const Use& use : uses) {
    const int64_t begin_bytes = block_offsets[use.block];
    const ByteRange bytes = {begin_bytes, begin_bytes + use.part.size_bytes};
    int64_t latest_step = kNeverUsedStep;
    for (const AddressMap::Segment& segment : map.Over(bytes)) {
      if (segment.owner != use.block) latest_step = std::max(latest_step, segment.free_step);
    }
    map.Use(bytes, set.section_steps[use.part.end_section], use.block);
    if (latest_step == kNeverUsedStep) continue;
    const int64_t distance_steps = set.section_steps[use.part.begin_section] - latest_step;
    reuse.min_distance_steps = reuse.reused_count == 0
                                   ? distance_steps
                                   : std::min(reuse.min_distance_steps, distance_steps);
    ++reuse.reused_count;
    total_steps += static_cast<double>(distance_steps);
  }
  if (reuse.reused_count > 0) {
    reuse.mean_distance_steps = total_steps / static_cast<double>(reuse.reused_count);
  }
  return reuse;
}

}  // namespace berth
