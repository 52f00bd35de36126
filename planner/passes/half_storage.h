// Stores a float32 model at half size: constants and the values between ops become float16 or
// bfloat16, while every unit goes on computing in float32 and rounds once (to nearest even) where a
// result is written. Inputs and outputs of the graph keep their dtype; a Cast at the boundary
// becomes part of the op beside it when elementwise ops are fused. Integers and quantized ops are
// left as they are.
//
// float32 stays where the range of the smaller dtype may not do:
//   - an op with a constant that would become infinite, or lose its digits, computes in float32;
//   - results that may be far larger than the operands (exponentials, powers, squares; float16
//     only), whole numbers of more than 8 bits, arguments of Sin and Cos, and sums and products of
//     such values are "wide": float32 as well. Where a float16 op reads one it is first bounded by
//     the largest finite float16, so that it cannot become infinite;
//   - an op that the kernels do not run at half size.
//
// Runs when products have been formed and layouts chosen, before elementwise ops are fused.
// Complexity: linear in the graph and in the bytes of its constants.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/graph.h"

namespace berth {

// An op that computes in float32 all the same, and why.
struct KeptInFloat32 {
  std::string node;  // "Conv 'name'"
  std::string reason;
};

struct HalfSummary {
  int64_t narrowed_values = 0;      // between ops
  int64_t narrowed_constants = 0;   // read at half size
  std::vector<KeptInFloat32> kept;  // for a large constant, weights or a kernel
};

// `dtype` is kFloat16 or kBFloat16; types are known, before and after.
absl::StatusOr<HalfSummary> StoreAsHalf(Graph& graph, DType dtype);

}  // namespace berth
