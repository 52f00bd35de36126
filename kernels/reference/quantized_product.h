// What the references of Conv, ConvTranspose and MatMul do around their sums in the integer form
// (ops/quantized_product.h).
#pragma once

#include <vector>

#include "kernels/ops/quantized_product.h"

namespace berth {

// Takes the zero points off.
void CenterOperands(const Node& node, std::vector<double>& x, std::vector<double>& w);

// Bias, factor, rounding and bounds; `channel_axis` is that of the output (-1: one channel).
void FinishQuantizedProduct(const OpCall& call, int channel_axis, const std::vector<double>& sums,
                            absl::Span<const ConstTensorView> inputs, const TensorView& output);

}  // namespace berth
