// Operators of the domain com.microsoft that ai.onnx lacks.
#pragma once

#include "kernels/graph.h"

namespace berth {

// All of them are quantized forms, which expand into QuantizeLinear and DequantizeLinear around
// float operators.
bool IsContribOp(OpKind kind);

}  // namespace berth
