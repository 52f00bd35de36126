// The plain reference of each op: obvious loops, any dtype and layout, no speed. It folds constants
// at compile time and is what `berth check` compares with when no expected outputs are given.
#pragma once

#include <vector>

#include "base/status.h"
#include "kernels/op_def.h"

namespace berth {

// Outputs are allocated with the types of the type rule. Tail ops are not applied here.
using ReferenceKernel = absl::Status (*)(const OpCall& call,
                                         absl::Span<const ConstTensorView> inputs,
                                         absl::Span<const TensorView> outputs);

// Never null: every op has a reference.
ReferenceKernel GetReference(OpKind kind);

// One node with its tail. `inputs` are the node's, then the operands of its tail in order of use
// (flow positions left out); an absent one has dtype kUndefined. Output types are inferred from the
// actual inputs (all of which count as known values).
absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Graph& graph, const Node& node,
                                                 absl::Span<const ConstTensorView> inputs);

// All outputs of a graph whose types are inferred, for the given inputs in the graph's order.
absl::StatusOr<std::vector<Tensor>> Interpret(const Graph& graph, absl::Span<const Tensor> inputs);

}  // namespace berth
