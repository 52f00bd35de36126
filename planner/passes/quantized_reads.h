// An op that computes in float reads quantized operands as they are stored (kernels/read_scale.h):
// the DequantizeLinear in front of it disappears, and no float tensor goes through DRAM.
#pragma once

#include "kernels/graph.h"

namespace berth {

absl::Status ReadQuantized(Graph& graph);

}  // namespace berth
