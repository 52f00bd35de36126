// What the searches work on: the problem in flat arrays, and a set of nodes that ran (closed under
// predecessors) with what is ready and live after them. Running or undoing a node costs its users'
// and successors' count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/order/problem.h"

namespace berth {

// Rows of different length in one array.
struct IndexRows {
  std::vector<int> begin{0};
  std::vector<int> items;

  std::span<const int> operator[](int row) const {
    const size_t r = static_cast<size_t>(row);
    return {items.data() + begin[r], static_cast<size_t>(begin[r + 1] - begin[r])};
  }
  void AddRow(std::span<const int> row) {
    items.insert(items.end(), row.begin(), row.end());
    begin.push_back(static_cast<int>(items.size()));
  }
};

struct OrderInstance {
  explicit OrderInstance(const OrderProblem& problem);

  int node_count = 0;
  int word_count = 0;  // of a set of nodes
  IndexRows predecessors, successors;
  IndexRows node_buffers;  // the buffers that a node uses
  IndexRows node_reuses;   // pairs (opened, closed)
  std::vector<int64_t> buffer_bytes;
  // A buffer that is live before the first node has one user more, which ran; one that is live
  // after the last has one more, which never runs.
  std::vector<int> users_at_start, users_total;
  std::vector<int64_t> workspace_bytes;
  std::vector<uint64_t> node_hash;  // fixed random numbers
  int64_t base_bytes = 0;
};

struct OrderState {
  explicit OrderState(const OrderInstance& instance);

  std::vector<int> users_done;   // per buffer
  std::vector<int> inputs_left;  // per node: predecessors that have not run
  std::vector<uint64_t> ready;   // sets of nodes
  std::vector<uint64_t> done;
  int64_t live_bytes = 0;
  uint64_t hash = 0;  // of the set `done`
};

// What running a ready node would mean.
struct OrderStep {
  int64_t need_bytes = 0;   // while it runs
  int64_t delta_bytes = 0;  // of the bytes live after it
};
OrderStep MeasureStep(const OrderInstance& instance, const OrderState& state, int node);

void RunNode(const OrderInstance& instance, OrderState& state, int node);
// Takes back the last node that ran.
void UndoNode(const OrderInstance& instance, OrderState& state, int node);

// Calls visit(node) for each member of a set, ascending, until it returns false.
template <typename Visit>
void ForEachNode(std::span<const uint64_t> set, Visit&& visit) {
  for (size_t w = 0; w < set.size(); ++w) {
    for (uint64_t bits = set[w]; bits != 0; bits &= bits - 1) {
      if (!visit(static_cast<int>(w * 64) + __builtin_ctzll(bits))) return;
    }
  }
}

// The measured peak of a whole order, as the searches count it.
int64_t PeakBySteps(const OrderInstance& instance, const std::vector<int>& order);

}  // namespace berth
