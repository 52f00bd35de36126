#include "planner/quantize/scales.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace berth {
namespace {

constexpr float kMostWeight = 127;
// Leaves room for the products in the 32 bits of the sums.
constexpr double kMostBiasSteps = 1 << 29;
// Products of two scales stay far from the denormal numbers, whose quotients are not exact.
constexpr float kLeastScale = 1e-16f;

float StepBelow(double span, double steps) {
  return std::max(static_cast<float>(span / steps), kLeastScale);
}

// Which scale each element takes: elements of one index stand `inner` together.
struct AxisIndex {
  size_t inner = 1, count = 1;
  size_t operator()(size_t element) const { return element / inner % count; }
};
AxisIndex IndexOf(const Shape& shape, int axis) {
  if (axis < 0) return {static_cast<size_t>(std::max<int64_t>(1, shape.ElementCount())), 1};
  return {static_cast<size_t>(std::max<int64_t>(1, shape.Product(axis + 1, shape.rank()))),
          static_cast<size_t>(shape[axis])};
}

}  // namespace

TensorQuantization ScaleOf(const ValueBounds& bounds, DType dtype) {
  const IntegerRange range = RangeOfDType(dtype);
  const double least = bounds.empty() ? 0.0 : std::min(0.0, double{bounds.least});
  const double most = bounds.empty() ? 0.0 : std::max(0.0, double{bounds.most});
  if (least == most) return {1.0f, 0};
  const float scale = StepBelow(most - least, range.most - range.least);
  const double zero = std::nearbyint(range.least - least / double{scale});
  return {scale, static_cast<int32_t>(std::clamp<double>(zero, range.least, range.most))};
}

Tensor QuantizeTensor(const Tensor& values, const TensorQuantization& by, DType dtype) {
  const IntegerRange range = RangeOfDType(dtype);
  Tensor stored(TensorType{dtype, values.shape()});
  const absl::Span<const float> in = values.Values<float>();
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      const absl::Span<T> out = stored.Values<T>();
      for (size_t i = 0; i < in.size(); ++i) {
        const double steps = std::nearbyint(double{in[i] / by.scale}) + by.zero_point;
        out[i] = static_cast<T>(std::clamp<double>(steps, range.least, range.most));
      }
    }
  });
  return stored;
}

QuantizedWeights QuantizeWeights(const Tensor& weights, int axis, absl::Span<const float> bias,
                                 float x_scale) {
  const AxisIndex index = IndexOf(weights.shape(), axis);
  const absl::Span<const float> values = weights.Values<float>();
  std::vector<float> largest(index.count, 0.0f);
  for (size_t i = 0; i < values.size(); ++i) {
    largest[index(i)] = std::max(largest[index(i)], std::abs(values[i]));
  }
  QuantizedWeights result;
  for (size_t c = 0; c < index.count; ++c) {
    float scale = StepBelow(largest[c], kMostWeight);
    for (size_t b = c; b < bias.size(); b += index.count) {
      scale = std::max(scale, static_cast<float>(std::abs(bias[b]) / kMostBiasSteps / x_scale));
    }
    result.scales.push_back(scale);
  }
  result.stored = Tensor(TensorType{DType::kInt8, weights.shape()});
  const absl::Span<int8_t> out = result.stored.Values<int8_t>();
  double signal = 0, noise = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const float scale = result.scales[index(i)];
    const float steps = std::clamp(std::nearbyint(values[i] / scale), -kMostWeight, kMostWeight);
    out[i] = static_cast<int8_t>(steps);
    const double error = double{steps} * scale - values[i];
    signal += double{values[i]} * values[i];
    noise += error * error;
  }
  result.sqnr_db =
      noise > 0 ? 10 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
  return result;
}

Tensor QuantizeBias(absl::Span<const float> bias, const std::vector<float>& scales, float x_scale) {
  Tensor stored(TensorType{DType::kInt32, Shape{static_cast<int64_t>(bias.size())}});
  const absl::Span<int32_t> out = stored.Values<int32_t>();
  for (size_t c = 0; c < bias.size(); ++c) {
    const double step = double{x_scale} * double{scales[scales.size() == 1 ? 0 : c]};
    out[c] = static_cast<int32_t>(std::nearbyint(double{bias[c]} / step));
  }
  return stored;
}

}  // namespace berth
