// The ordering problem of a graph as the machine will run it: one buffer for each range of the pool
// that AssignStorage makes (views share one), in place as reuses, fused ops as the nodes that they
// are. Constants, inputs and outputs of the model stand in regions of their own and cost nothing.
//
// What AssignStorage makes of an order is never below the peak counted here: it takes over bytes in
// place only where a reuse stands here (a buffer that is taken over by a smaller value stays
// whole). So a bound of this problem is a bound for the graph.
#pragma once

#include "kernels/graph.h"
#include "planner/order/problem.h"
#include "planner/storage/storage.h"

namespace berth {

OrderProblem ToOrderProblem(const Graph& graph, const StorageOptions& options);

}  // namespace berth
