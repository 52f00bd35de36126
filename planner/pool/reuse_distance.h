// Scratchpad placement: fit, then let every byte rest as long as possible before it is reused.
//
// On the machine, a buffer that takes bytes which another has just left must wait for that one's
// last command; bytes left long ago cost nothing. So blocks are placed in order of time, each on
// the free bytes whose last use is the longest ago (never-used bytes first): consecutive buffers
// rotate through the memory. Where that scatters the free bytes too much to fit, a rest of 64, 16,
// 4 and then 1 steps is taken as long enough for the blocks around that time, with the lowest such
// window: the less rest is asked for, the tighter the packing. If that does not fit either, it is
// tried again with long-lived blocks placed first, at the bottom.
//
// Blocks that commands use together (BlockSet::used_with) are placed in banks of their own where
// that costs no rest that matters: bytes in one bank share its ports.
//
// An alias group is placed by its outline (its largest size over its whole life).
// O(n x segments) for each attempt, see address_map.h.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "planner/pool/blocks.h"
#include "planner/pool/solution.h"
#include "planner/pool/trial.h"
#include "planner/pool/work_budget.h"

namespace berth {

// Incomplete where no attempt fits: names the block for which there was no room in the last.
Trial PlaceForReuse(const BlockSet& set, int64_t capacity_bytes, WorkBudget* budget);

PoolReuse MeasureReuse(const BlockSet& set, absl::Span<const int64_t> block_offsets);

}  // namespace berth
