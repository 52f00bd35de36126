// Range: start, start + delta, ... below (or above) limit.
#pragma once

#include "kernels/op_def.h"

namespace berth {

// The values of a use whose operands are known; its type rule gives the count.
Tensor RangeValues(const OpCall& call, const TensorType& type);

}  // namespace berth
