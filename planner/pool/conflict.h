// A small set of items that shows why a capacity is missed.
//
// By load: of the items live at the witness step the largest ones, as few as exceed the capacity,
// of which then each one is needed. By search: items are left out, long-lived halves first, for as
// long as the exact search refutes the rest within its share of work; what remains is a proof that
// one can look at, not always the smallest one. O(n log n), and the work of the searches.
#pragma once

#include "planner/pool/problem.h"
#include "planner/pool/solution.h"
#include "planner/pool/work_budget.h"

namespace berth {

// For plans that miss the capacity: status kInfeasible or kTimeout.
PoolConflict FindConflict(const PoolProblem& problem, const PoolPlan& plan, WorkBudget budget);

}  // namespace berth
