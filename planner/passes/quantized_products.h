// DequantizeLinear -> Conv, ConvTranspose, Gemm or MatMul -> [Relu, Clip] -> QuantizeLinear becomes
// one product of integers (ops/quantized_product.h).
//
// Folded where the result is the same number in exact arithmetic: scales per tensor, weights per
// output channel, one zero point each, a bias that is a whole number of scale steps to within the
// rounding of float32, and sums that provably stay within 32 bits. The result is float32 where
// nothing quantizes it, and where the bias is no whole number of steps, which is then added in
// float.
#pragma once

#include <string_view>

#include "kernels/graph.h"

namespace berth {

// An attribute of the product, beyond ONNX: the factor from sums to a 16-bit result has so many
// significant bits, rounded and at most all ones, as a fixed-point multiplier has.
inline constexpr std::string_view kFactorBits = "factor_bits";

absl::Status FoldQuantizedProducts(Graph& graph);

}  // namespace berth
