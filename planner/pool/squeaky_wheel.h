// Improvement by repeated construction: what got in the way last time goes first next time.
//
// Each wheel is a list of priorities, started from one measure of the blocks. A turn places all
// blocks by the wheel's priorities under a limit below the best plan so far; the blocks for which
// no room was left then have their priority raised. ("Squeaky wheel" optimization, Joslin and
// Clements 1999.) The construction is the skyline; where blocks are fixed, which the skyline cannot
// go around, it is first-fit. Deterministic for a seed and a work budget.
#pragma once

#include <cstdint>

#include "planner/pool/blocks.h"
#include "planner/pool/incumbent.h"
#include "planner/pool/work_budget.h"

namespace berth {

// Turns until the incumbent is at `target_bytes` or below, or the budget is spent. Does nothing
// where not even one turn fits the budget.
void ImproveBySqueakyWheel(const BlockSet& set, int64_t lower_bound_bytes, int64_t target_bytes,
                           uint64_t seed, WorkBudget* budget, Incumbent* incumbent);

}  // namespace berth
