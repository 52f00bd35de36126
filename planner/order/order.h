// The order in which ops run: among topological orders, one whose live bytes peak lowest.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/graph.h"
#include "planner/storage/storage.h"

namespace berth {

struct OrderResult {
  int64_t model_peak_bytes = 0;  // of the order that the graph came with
  int64_t peak_bytes = 0;        // of the order chosen; never more
  const char* method = "";       // "model", "greedy", "depth-first"
};

// Permutes graph.nodes. The peak is what the machine will really hold: views, in-place and fused
// ops counted as AssignStorage makes them. Cost: O(nodes^2) in the worst case for the greedy order.
OrderResult OrderNodes(Graph& graph, const StorageOptions& options);

// Most bytes of pool buffers live at one step.
int64_t PeakLiveBytes(const StoragePlan& storage);

}  // namespace berth
