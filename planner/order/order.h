// The order in which ops run: among topological orders, one whose live bytes peak lowest.
#pragma once

#include <cstdint>
#include <string>

#include "base/stop.h"
#include "kernels/graph.h"
#include "planner/storage/storage.h"

namespace berth {

struct OrderResult {
  int64_t model_peak_bytes = 0;   // of the order that the graph came with
  int64_t peak_bytes = 0;         // of the order chosen; never more
  int64_t lower_bound_bytes = 0;  // no order is below
  bool is_exact = false;          // the peak is the bound
  const char* method = "";        // "model", or what found the order (OrderSolution)
};

// Permutes graph.nodes. The peak is what the machine will really hold: views, in-place and fused
// ops counted as AssignStorage makes them. Deterministic, but where it was to stop; under a second
// for thousands of nodes, without `search` a few milliseconds.
OrderResult OrderNodes(Graph& graph, const StorageOptions& options, bool search = true,
                       const StopConditions& stop = {});

// "order: peak 10 of 12 in the model's order, bound 10, EXACT"
std::string DescribeOrder(const OrderResult& result);

}  // namespace berth
