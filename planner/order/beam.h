// Beam search over sets of nodes: level k holds the best sets of k nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/order/state.h"
#include "planner/pool/work_budget.h"

namespace berth {

struct OrderBeamOptions {
  int width = 100;
  int64_t limit_bytes = 0;  // no step may need more
  // Sets rank by live bytes, times 1 + noise * (a random number in [0, 1) of the set).
  double noise = 0;
  uint64_t seed = 0;
};

// An order within the limit, or nothing: which proves nothing. Cost: nodes * width * ready.
std::optional<std::vector<int>> BeamOrder(const OrderInstance& instance,
                                          const OrderBeamOptions& options, WorkBudget& budget);

}  // namespace berth
