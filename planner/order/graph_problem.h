// The ordering problem of a graph as the machine will run it: one buffer for each range of the pool
// that AssignStorage makes (views share one), in place as reuses, fused ops as the nodes that they
// are. Constants, inputs and outputs of the model stand in regions of their own and cost nothing.
//
// An output that takes over a part of a larger buffer costs nothing while that lives on; the
// problem counts it as a buffer of its own. Where there is such a chance, a second problem counts
// it as nothing at all: what AssignStorage makes of an order is never below the peak of the second,
// so its bound is a bound for the graph.
#pragma once

#include <vector>

#include "kernels/graph.h"
#include "planner/order/problem.h"
#include "planner/storage/storage.h"

namespace berth {

struct GraphOrderProblem {
  OrderProblem problem;
  std::vector<int> maybe_free;  // buffers that may cost nothing; none: the problem bounds the graph
};
GraphOrderProblem ToOrderProblem(const Graph& graph, const StorageOptions& options);

// The problem with the buffers of `maybe_free` at no bytes.
OrderProblem BoundProblem(const GraphOrderProblem& graph_problem);

}  // namespace berth
