// Improvement of large plans: what lies around the peak is placed anew, all else stays.
//
// The target is a little below the height. Each block that ends above it is freed together with
// those that meet it in time and lie highest; the others are fixed, and the exact search places the
// freed ones below the target. When no block is above it any more, the plan is lower by a step and
// the next target is set; where that fails, more is freed, and then the step is made smaller.
// (Large-neighbourhood search, Shaw 1998.) Each try costs O(n) and the work of the exact search.
#pragma once

#include <cstdint>

#include "planner/pool/blocks.h"
#include "planner/pool/incumbent.h"
#include "planner/pool/work_budget.h"

namespace berth {

// Needs an incumbent. Ends at `target_bytes` or at the end of the budget, or when nothing helps.
void ImproveByNeighbourhoods(const BlockSet& set, int64_t lower_bound_bytes, int64_t target_bytes,
                             uint64_t seed, WorkBudget* budget, Incumbent* incumbent);

}  // namespace berth
