// The hook through which constant folding evaluates a node whose operands are all known.
#pragma once

#include <functional>
#include <vector>

#include "base/tensor.h"
#include "kernels/graph.h"

namespace berth {

// Results of `node` for these operands (the node's inputs in order, an absent one with dtype
// kUndefined). Null: only what needs no op semantics beyond shapes and small integers is folded.
using ConstantEvaluator = std::function<absl::StatusOr<std::vector<Tensor>>(
    const Graph& graph, const Node& node, absl::Span<const ConstTensorView> operands)>;

}  // namespace berth
