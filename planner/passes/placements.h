// In which orders of axes each value of the model stands in memory while the layout pass rewrites
// the graph. A value keeps its logical type; a placement is another value of the graph that holds
// its elements with the axes permuted.
#pragma once

#include <map>
#include <vector>

#include "kernels/fold/graph_edit.h"
#include "kernels/graph.h"
#include "planner/passes/permutation.h"

namespace berth {

struct Placement {
  ValueId id = ValueId::kNone;
  Permutation order;  // axis k of `id` is axis order[k] of the logical value
};

class Placements {
 public:
  // Nodes that rearrange values are appended to `nodes`.
  Placements(Graph& graph, std::vector<Node>& nodes);

  // Where the value was made. Graph inputs and constants stand as they are.
  const Placement& Primary(ValueId logical);
  // The value with its axes in this order; emits a Transpose or a Reshape the first time.
  ValueId Get(ValueId logical, const Permutation& order);
  ValueId GetNatural(ValueId logical);
  // An operand of an elementwise op of rank order.size(), in the order of the result.
  ValueId GetBroadcast(ValueId logical, const Permutation& order);

  // A value to hold `logical` in this order (the logical value itself when that is its own order).
  ValueId Define(ValueId logical, const Permutation& order);
  // `renamed` is `logical` with its axes permuted by `perm`: no bytes move.
  void Rename(ValueId logical, const Permutation& perm, ValueId renamed);

 private:
  std::vector<Placement>& Of(ValueId logical);
  ValueId Rearrange(const Placement& from, ValueId logical, const Permutation& order);
  ValueId PaddedTo(ValueId logical, int rank);

  Graph& graph_;
  std::vector<Node>& nodes_;
  NameSource names_;
  std::map<ValueId, std::vector<Placement>> placements_;
  std::map<std::pair<ValueId, int>, ValueId> padded_;
};

}  // namespace berth
