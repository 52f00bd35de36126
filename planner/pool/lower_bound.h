// A height that no plan can go below, and the step that proves it.
//
// At any step the live blocks are stacked without overlap. If all of them need an alignment of at
// least g, every block but the topmost takes its size rounded up to g, so the stack is at least
//     sum(AlignUp(size, g)) - max(AlignUp(size, g) - size)
// high; with g = 1 that is the live bytes. A fixed block needs its own end besides. g is the least
// alignment of all blocks: larger alignments of some leave holes that others may fill.
// One sweep over time, O(n log n).
#pragma once

#include <cstdint>
#include <vector>

#include "planner/pool/blocks.h"

namespace berth {

struct PoolLowerBound {
  int64_t bound_bytes = 0;
  int64_t step = 0;             // at which the bound is reached
  int64_t live_peak_bytes = 0;  // most bytes live at one step, alignment left aside
};

PoolLowerBound ComputeLowerBound(const BlockSet& set);

// Indexes of the items live at `step`, largest first.
std::vector<int64_t> ItemsLiveAt(const PoolProblem& problem, int64_t step);

}  // namespace berth
