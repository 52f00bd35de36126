// Folds a Pad into the window op that reads it: Conv (zeros), AveragePool (zeros, counted), MaxPool
// (minus infinity, or zeros where the values are known not to be negative and every window sees one
// of them).
#pragma once

#include "kernels/graph.h"

namespace berth {

absl::Status FoldPad(Graph& graph);

}  // namespace berth
