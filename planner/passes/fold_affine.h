// Folds multiplication and addition of constants per output channel (batch normalization after its
// expansion, biases, scales) into the weights and bias of the Conv, ConvTranspose or MatMul that
// makes the value.
//
// y = (W x + b) * s + t  =  (s W) x + (s b + t), computed in double precision. Float32 only; the
// value between must have no other reader.
#pragma once

#include "kernels/graph.h"

namespace berth {

absl::Status FoldAffine(Graph& graph);

}  // namespace berth
