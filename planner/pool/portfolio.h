// The greedy portfolio: several sequences, first-fit and best-fit, the lowest plan wins.
#pragma once

#include <cstdint>

#include "planner/pool/blocks.h"
#include "planner/pool/incumbent.h"
#include "planner/pool/work_budget.h"

namespace berth {

// Runs at least one construction, whatever the budget; ends early at `target_bytes`.
void RunGreedyPortfolio(const BlockSet& set, int64_t target_bytes, WorkBudget* budget,
                        Incumbent* incumbent);

}  // namespace berth
