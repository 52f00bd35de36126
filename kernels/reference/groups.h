// How a reduction gathers its input.
#pragma once

#include <vector>

#include "kernels/ops/reduce_axes.h"

namespace berth {

// Which elements of the input each element of the output is made of, in order.
std::vector<std::vector<size_t>> ReductionGroups(const ReducedAxes& axes, const Shape& input);

}  // namespace berth
