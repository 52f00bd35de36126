// Moves elementwise ops with scalar operands to before the Reshape or Concat that makes their
// operand, where they can be fused into what computes it; the Reshape or Concat stays a view.
#pragma once

#include "kernels/graph.h"

namespace berth {

// Only where nothing else reads the value, nor what it is made from.
absl::Status HoistElementwise(Graph& graph);

}  // namespace berth
