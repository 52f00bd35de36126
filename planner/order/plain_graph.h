// Plain graphs: a node makes one output of so many bytes, an edge is a read of it. The output lives
// until its last consumer ran; a node without consumers makes a result, which lives to the end.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/order/problem.h"

namespace berth {

struct PlainGraph {
  std::vector<int64_t> output_bytes;       // per node
  std::vector<std::pair<int, int>> edges;  // producer, consumer; repeats are one
};

// Refuses what ValidateOrderProblem refuses; cycles pass (FindCycle).
absl::StatusOr<OrderProblem> ToOrderProblem(const PlainGraph& graph);

// The order of a depth-first walk: after a node, a consumer that became ready last of all.
std::vector<int> DepthFirstOrder(const OrderProblem& problem);

}  // namespace berth
