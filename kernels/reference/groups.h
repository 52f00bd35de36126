// How a reduction gathers its input.
#pragma once

#include <vector>

#include "kernels/ops/reduce_axes.h"

namespace berth {

// Which elements of the input each element of the output is made of, in order.
std::vector<std::vector<size_t>> ReductionGroups(const ReducedAxes& axes, const Shape& input);

// The axes over which a softmax or hardmax of a value of `shape` runs: one, or, before opset 13,
// all from that on.
absl::StatusOr<ReducedAxes> SoftmaxAxes(const OpCall& call, const Shape& shape);

}  // namespace berth
