// Improvement of a plan by a portfolio of searches, in rounds, until it is proved optimal.
//
// The members are a squeaky wheel and exact searches (exact/search.h) with different orders, at
// several heights between the bound and the best plan at once: what fits lowers the plan, what is
// refuted raises the bound. In each round every member does the same number of units of work, on
// as many threads as there are; results are merged in the order of the members when the round
// ends. So the result does not depend on the number of threads. When a member reaches the target,
// the others only go on to where they would have been first.
#pragma once

#include <cstdint>

#include "planner/pool/blocks.h"
#include "planner/pool/incumbent.h"
#include "planner/pool/work_budget.h"

namespace berth {

struct ImproveOptions {
  int64_t target_bytes = 0;  // low enough
  bool only_fit = false;     // nothing but the target counts
  uint64_t seed = 1;
  int threads = 1;
};

// Returns the lower bound: the one given, or the one that the search proved.
int64_t ImproveInRounds(const BlockSet& set, int64_t lower_bound_bytes,
                        const ImproveOptions& options, WorkBudget* budget, Incumbent* incumbent);

}  // namespace berth
