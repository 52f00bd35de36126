// Skyline placement: blocks are stacked from the bottom up, always on top of what lies below them
// during their whole life, and the next block is chosen by what the rest still needs.
//
// For each section the skyline is the highest end placed so far and the rest the bytes that are
// still to come. Placing a block at offset o proves that the plan will be at least
//     o + max over its sections of the rest (its own bytes included)
// high: its need. Among the blocks that lie lower than any block could end, the next one has the
// least need above the goal, then the lowest offset, then the highest priority. This is the bound
// by which exact solvers prune, used as a rule of choice.
// O(n^2) for a trial, and a run over a block's sections where its need is in doubt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "planner/pool/blocks.h"
#include "planner/pool/trial.h"
#include "planner/pool/work_budget.h"

namespace berth {

class SkylinePlacer {
 public:
  // `set` must outlive the placer and hold no fixed blocks.
  explicit SkylinePlacer(const BlockSet& set);

  // Needs up to `goal_bytes` count as equal. Gives up as soon as some need is above `limit_bytes`;
  // blocked are then the blocks whose needs are.
  Trial Place(absl::Span<const double> priorities, int64_t goal_bytes, int64_t limit_bytes,
              WorkBudget* budget);

 private:
  // The blocks still to be placed, as parallel arrays for the two loops over all of them.
  struct Waiting {
    std::vector<int64_t> offset_bytes;  // lowest on the skyline
    std::vector<int64_t> size_bytes;
    std::vector<int64_t> alignment_bytes;
    std::vector<int32_t> begin_section;
    std::vector<int32_t> end_section;
    std::vector<int32_t> block;
    std::vector<int64_t> rest_bytes;  // most bytes to come during its life; too much while is_stale
    std::vector<uint8_t> is_stale;
  };

  void Reset();
  void ListCandidates();
  size_t ChooseNext(absl::Span<const double> priorities, int64_t goal_bytes);
  int64_t Need(size_t waiting, int64_t enough_bytes);
  int64_t RestBytes(const Block& block) const;
  void Remove(size_t waiting);
  void Raise(const Block& placed, int64_t offset_bytes);
  void RaiseByParts(const Block& placed, int64_t offset_bytes);
  std::vector<int32_t> BlocksAbove(int64_t limit_bytes);

  const BlockSet& set_;
  const std::vector<int64_t> loads_;  // by section
  bool has_one_part_each_ = true;
  Waiting all_;  // as at the start of a trial
  Waiting waiting_;
  std::vector<int64_t> section_rest_;
  std::vector<uint32_t> candidates_;  // in waiting_: lower than any waiting block could end
  int64_t work_units_ = 0;
};

}  // namespace berth
