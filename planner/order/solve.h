// Order a problem by peak: exactly where the search finishes, else as well as the budget allows.
// Never worse than the order given; deterministic for a seed and a work limit.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/order/problem.h"

namespace berth {

struct OrderSearchOptions {
  // One unit is one step measured (30 to 60 ns): the default is about 10 s at the most.
  int64_t work_limit_units = 150'000'000;
  uint64_t seed = 1;
  // Sets that the exact search remembers: 24 bytes each for 100 nodes, 140 for 1000.
  size_t max_sets = 6'000'000;
  // May end the search early; the result then depends on when. May be empty.
  std::function<bool()> should_stop;
};

struct OrderSolution {
  std::vector<int> order;
  int64_t peak_bytes = 0;
  int64_t lower_bound_bytes = 0;  // no order is below
  bool is_exact = false;          // the peak is the least there is
  bool is_reproducible = true;    // false: the stop signal cut the search
  const char* method = "";        // what found the order: "given", "depth-first", "beam", ...
};

// `given` is a topological order of a valid problem.
OrderSolution SolveOrder(const OrderProblem& problem, const std::vector<int>& given,
                         const OrderSearchOptions& options = {});

// Positions at which `order` can be cut into independent parts: every topological order runs
// exactly these nodes before the others. Ascending, without 0 and the node count.
// O(edges * nodes / 64).
std::vector<int> ForcedCuts(const OrderProblem& problem, const std::vector<int>& order);

}  // namespace berth
