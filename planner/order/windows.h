// Local improvement: a window of steps around the peak is searched exactly, with everything outside
// it fixed.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/order/problem.h"
#include "planner/pool/work_budget.h"

namespace berth {

// Lowers steps at the peak until none of the windows can, or the peak is `goal_bytes` or less; each
// window gets up to `window_units` of work. True when the peak is lower. Never raises it.
bool ImproveWindows(const OrderProblem& problem, std::vector<int>& order, int64_t goal_bytes,
                    int64_t window_units, WorkBudget& budget);

}  // namespace berth
