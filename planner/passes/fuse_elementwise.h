// Folds elementwise ops into the end of the node that makes their operand (Node::tail), so that a
// tile is finished before it is stored.
//
// An op is folded into the producer of one of its operands when it is that value's only reader, the
// value is no graph output, and the op's result has its shape. Of several such producers the latest
// is taken: it moves to the op's place, and the others' values live shorter. All other operands
// exist there already.
//
// Complexity: linear in nodes and operands.
#pragma once

#include "kernels/graph.h"

namespace berth {

absl::Status FuseElementwise(Graph& graph);

}  // namespace berth
