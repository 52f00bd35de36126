// Ops that only move, pick or compare values work on the stored integers: a DequantizeLinear moves
// behind them, a QuantizeLinear in front of them, and the two cancel where they meet with the same
// scale and zero point. Scales are per tensor and known; what rounds stays where it is.
#pragma once

#include "kernels/graph.h"

namespace berth {

absl::Status MoveQuantization(Graph& graph);

// How many leading inputs of the node are data that it only moves, picks or compares; 0: the op
// does not commute with a rising map of its values.
size_t MovedInputCount(const Node& node);

}  // namespace berth
