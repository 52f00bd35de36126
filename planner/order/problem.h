// The abstract problem of ordering: atomic nodes under precedence, and buffers that open when the
// first of their users runs and close after the last.
//
// A buffer stands for bytes, not for a value: views and aliases share one buffer that several nodes
// produce and read, and values that cost nothing (constants, a model's inputs) have none. While a
// node runs, its inputs and its outputs are live together. In place is an optional reuse: where
// node v opens `opened` and is the last user of `closed`, the step does not need both.
//
//   live(S)    = base + bytes of the buffers open after the nodes of S ran
//   need(S, v) = live(S) + bytes that v opens - the largest reuse that applies + workspace(v)
//   peak       = max of need over the steps of an order
//
// The problem is closed under reversal and under windows (a buffer may be live before the first
// node or after the last), which is what the searches build on.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"

namespace berth {

struct OrderBuffer {
  int64_t size_bytes = 0;
  std::vector<int> users;    // nodes that write or read it, distinct
  bool live_before = false;  // open before the first node
  bool live_after = false;   // still needed after the last: a result
};

// `node` may write buffer `opened` over buffer `closed` where it is the first user of the one and
// the last of the other.
struct OrderReuse {
  int node = 0;
  int opened = 0;
  int closed = 0;
};

struct OrderProblem {
  std::vector<std::vector<int>> predecessors;  // per node, distinct
  std::vector<OrderBuffer> buffers;
  std::vector<OrderReuse> reuses;
  std::vector<int64_t> workspace_bytes;  // per node; empty: none
  int64_t base_bytes = 0;                // live at every step

  int node_count() const { return static_cast<int>(predecessors.size()); }
};

// InvalidArgument where a node or buffer is out of range, bytes are negative or sum beyond 2^62.
absl::Status ValidateOrderProblem(const OrderProblem& problem);

// Nodes of one cycle in the order of its arrows; empty when there is none.
std::vector<int> FindCycle(const OrderProblem& problem);

// Every node once, each after its predecessors.
bool IsTopologicalOrder(const OrderProblem& problem, const std::vector<int>& order);

// need of every step, from the definition: O(nodes * buffers). The searches count incrementally;
// what they return is measured again by this.
std::vector<int64_t> StepNeeds(const OrderProblem& problem, const std::vector<int>& order);
int64_t PeakOfOrder(const OrderProblem& problem, const std::vector<int>& order);

// The same problem run backwards: an order of it, reversed, is an order of `problem` of equal peak.
OrderProblem Reversed(const OrderProblem& problem);

// The steps [begin, end) of `order` on their own, with everything outside fixed. Node i of the
// result is order[begin + i].
OrderProblem WindowOf(const OrderProblem& problem, const std::vector<int>& order, int begin,
                      int end);

}  // namespace berth
