// Moves elementwise ops with scalar operands from behind a Reshape to before it, where they can be
// fused into what makes the value.
#pragma once

#include "kernels/graph.h"

namespace berth {

// Only a Reshape that nothing else reads, of a value that nothing else reads.
absl::Status SinkReshapes(Graph& graph);

}  // namespace berth
