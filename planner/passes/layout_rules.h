// How each op takes operands whose axes stand in another order: the rules of the layout pass.
#pragma once

#include <optional>
#include <vector>

#include "kernels/op_def.h"
#include "planner/passes/placements.h"

namespace berth {

struct LayoutContext {
  Graph& graph;
  Placements& placements;
  const std::vector<bool>& feeds_spatial;  // by value, see FeedsSpatial
};

// The node over operands in the orders that suit it, its axes renamed, outputs not yet filled in.
struct PermutedNode {
  Node node;
  Permutation output_order;  // of output 0
};

// Ops that move a window or resample: they lower (LRN: expands) best or only from channels last.
bool IsSpatial(OpKind kind);

// Nothing where the op takes its operands only as the model has them. `call` is the node's.
std::optional<PermutedNode> PermuteNode(const OpCall& call, LayoutContext& context);

// The families (used by PermuteNode only).
std::optional<PermutedNode> PermuteSpatial(const OpCall& call, LayoutContext& context);
std::optional<PermutedNode> PermuteElementwise(const OpCall& call, LayoutContext& context);
std::optional<PermutedNode> PermuteConcat(const OpCall& call, LayoutContext& context);
std::optional<PermutedNode> PermuteReshape(const OpCall& call, LayoutContext& context);
std::optional<PermutedNode> PermuteMatMul(const OpCall& call, LayoutContext& context);
std::optional<PermutedNode> PermuteReduce(const OpCall& call, LayoutContext& context);
std::optional<PermutedNode> PermuteArg(const OpCall& call, LayoutContext& context);
std::optional<PermutedNode> PermuteSoftmax(const OpCall& call, LayoutContext& context);
std::optional<PermutedNode> PermuteSlice(const OpCall& call, LayoutContext& context);
std::optional<PermutedNode> PermutePad(const OpCall& call, LayoutContext& context);
std::optional<PermutedNode> PermuteGather(const OpCall& call, LayoutContext& context);
std::optional<PermutedNode> PermutePerAxisList(const OpCall& call, LayoutContext& context);

// The order that most bytes of the non-constant operands of this rank stand in; the natural one if
// there are none. A tie goes to channels last where the result feeds a spatial op, else to the
// natural order.
Permutation PreferredOrder(const OpCall& call, int rank, LayoutContext& context);

}  // namespace berth
