// Removes nodes that give back their input: Identity, a Cast to the same type, a Transpose in
// order, a Reshape to the same shape, a Slice of everything, a Pad by nothing, a Concat or Sum of
// one, ...
#pragma once

#include "kernels/graph.h"

namespace berth {

// Types are known. Graph outputs may come to name another value.
absl::Status EliminateIdentities(Graph& graph);

// A Reshape of a Reshape reads the first one's input.
absl::Status MergeReshapes(Graph& graph);

// Nodes that nothing depends on are dropped, and then values that nothing names.
absl::Status EliminateDead(Graph& graph);

}  // namespace berth
