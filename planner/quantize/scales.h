// From ranges to scales and zero points, and from floats to integers.
//
// value = (stored - zero_point) * scale. Zero is always represented exactly. Formulas:
// QuantizeLinear of ONNX; symmetric weights as in its quantization documents.
#pragma once

#include <optional>
#include <vector>

#include "base/tensor.h"
#include "kernels/ops/quantization.h"
#include "planner/quantize/statistics.h"

namespace berth {

// The finest scale of the dtype that covers the bounds and zero.
TensorQuantization ScaleOf(const ValueBounds& bounds, DType dtype);

// Round half to even, saturated.
Tensor QuantizeTensor(const Tensor& values, const TensorQuantization& by, DType dtype);

// int8 weights in [-127, 127], zero point 0.
struct QuantizedWeights {
  Tensor stored;
  std::vector<float> scales;  // one for each index of the axis, or one
  double sqnr_db = 0;         // of the weights themselves
};

// A scale for each index of `axis` (-1: one for all). `bias` (of as many elements as the axis, or
// empty) widens the scale of channels whose bias would not fit 2^29 steps of `x_scale` times it.
QuantizedWeights QuantizeWeights(const Tensor& weights, int axis, absl::Span<const float> bias,
                                 float x_scale);

// int32, in steps of x_scale * scales[c].
Tensor QuantizeBias(absl::Span<const float> bias, const std::vector<float>& scales, float x_scale);

}  // namespace berth
