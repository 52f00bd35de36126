// Arithmetic on short integer lists, as models do it on shapes.
#pragma once

#include <optional>
#include <vector>

#include "kernels/graph.h"

namespace berth {

// The outputs of a Gather, Concat, Slice, Split, Cast, Add, Sub, Mul, Div, Max or Min of integer
// tensors of rank 0 or 1 and at most 64 elements. Nothing for any other node, and nothing where
// the result would overflow or divide by zero.
std::optional<std::vector<Tensor>> ShapeArithmetic(const Graph& graph, const Node& node);

}  // namespace berth
