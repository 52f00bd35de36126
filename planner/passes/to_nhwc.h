// The layout pass: spatial ops come to read and write channels last (DataLayout::kNhwc), with as
// few transposes as the graph allows.
//
// Method: one walk in topological order in which every value may stand in memory with its axes in
// another order (a placement). A Transpose of the model only renames axes and emits nothing.
// Spatial ops ask for channels last; elementwise ops, reductions, Concat, Slice, Pad, Softmax and
// the like take the order that their operands have, with their axes renamed; a Reshape passes on
// every order under which the elements it groups stay together. A Transpose is emitted only where a
// node, or the caller at a graph output, needs an order in which the value does not stand yet;
// where only axes of extent 1 move it is a Reshape. Constants are permuted at compile time.
//
// Complexity: linear in nodes.
#pragma once

#include "kernels/graph.h"

namespace berth {

// Types are known before and after; graph inputs and outputs keep their types.
absl::Status ToNhwc(Graph& graph);

}  // namespace berth
