// Old forms of operators as the forms that they have since: attributes that became inputs, ops that
// were replaced. For graphs that are written out as ONNX.
//
// Source: the operator changelog of ONNX (Clip 11, Pad 11, Slice 10, Resize 11, Softmax 13, ...).
#pragma once

#include "kernels/graph.h"

namespace berth {

// The version of the default operator set in which every node of a graph of ModernizeOps stands:
// at least 17, more where a node has the meaning of a later one.
int ModernOpset(const Graph& graph);

// Types are known, before and after; ops have been expanded within ExpandScope::kPortable. MatMul
// with a bias or swapped operands (beyond ONNX) becomes Gemm, or MatMul and Add. Unimplemented
// names the node that has no such form.
absl::Status ModernizeOps(Graph& graph);

}  // namespace berth
