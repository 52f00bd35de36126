// What each op is to the quantizer.
#pragma once

#include "kernels/graph.h"

namespace berth {

enum class QuantizeRole : uint8_t {
  kFloat,    // computes in float; what it reads may be stored as integers, its result is not
  kProduct,  // multiplies and sums: weights get a scale for each output channel
  kMove,     // moves, picks or compares values: data inputs and outputs share one scale
  kCompute,  // its result has a scale of its own
};

// Conv, ConvTranspose, Gemm, MatMul.
bool IsProduct(OpKind kind);

// Of a node in its modern form. Ops whose results span many orders of magnitude (Exp, Pow, Sqrt,
// quotients) and those that do not compute on float32 stay in float.
QuantizeRole RoleOf(const Graph& graph, const Node& node);

// How many leading inputs of the node are data that its role speaks of.
size_t DataInputCount(const Graph& graph, const Node& node);

}  // namespace berth
