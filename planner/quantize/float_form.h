// The float model as the quantizer takes it: an imported graph with its constants folded, batch
// normalization, scales and pads folded into the products, and every op in its modern ONNX form.
#pragma once

#include "kernels/fold/evaluator.h"
#include "kernels/graph.h"

namespace berth {

// Inputs and outputs keep their order, names and types; every output is made by a node and stands
// once. InvalidArgument for a model that is quantized already (with its nodes), or that has no
// float32 Conv, ConvTranspose, Gemm or MatMul.
absl::StatusOr<Graph> ToFloatForm(Graph graph, const ConstantEvaluator& evaluator);

}  // namespace berth
