// Takes a Transpose away that only decides in which order features are flattened before a product
// with constant weights: the rows of the weights are put in the order that the features have.
//
//   MatMul(Reshape(Transpose(x)), W)  =  MatMul(Reshape(x), W')
#pragma once

#include "kernels/graph.h"

namespace berth {

absl::Status AbsorbTransposes(Graph& graph);

}  // namespace berth
