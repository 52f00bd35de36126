#include "planner/tflite/twice_rounded.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace berth {
namespace {

// 255 steps of the result times 2^8 are 16 bits.
constexpr int kMostShift = 8;

struct Factors {
  std::vector<float> up, down;  // by channel: from reals to whole numbers, and back
};

Factors FactorsOf(const TfliteQuantization& input, const TfliteQuantization& weights,
                  const TfliteQuantization& output, int64_t channels) {
  Factors factors;
  for (int64_t channel = 0; channel < channels; ++channel) {
    const float scale = weights.scales[weights.per_axis() ? static_cast<size_t>(channel) : 0];
    int exponent = 0;
    std::frexp(double{input.scales[0]} * scale / output.scales[0], &exponent);
    const int shift = std::clamp(-exponent, 0, kMostShift);
    // The least float above: halves go up, as TFLite rounds them.
    const auto up = static_cast<float>(std::ldexp(1.0 / output.scales[0], shift));
    factors.up.push_back(std::nextafter(up, std::numeric_limits<float>::infinity()));
    factors.down.push_back(static_cast<float>(std::ldexp(double{output.scales[0]}, -shift)));
  }
  return factors;
}

}  // namespace

absl::StatusOr<ValueId> TwiceRounded(TfliteOpImport& op, ValueId sums, tfl::Activation activation) {
  BERTH_ASSIGN_OR_RETURN(const auto input, op.InputQuantization(0));
  BERTH_ASSIGN_OR_RETURN(const auto weights, op.InputQuantization(1));
  BERTH_ASSIGN_OR_RETURN(const auto output, op.OutputQuantization());
  BERTH_ASSIGN_OR_RETURN(const TensorType declared, op.DeclaredOutput());
  const bool cuts_off = activation == tfl::Activation::RELU || activation == tfl::Activation::RELU6;
  if (!input || !weights || !output || input->per_axis() || output->per_axis() || !cuts_off ||
      DTypeBytes(declared.dtype) != 1) {
    return sums;
  }
  const int64_t least = declared.dtype == DType::kUInt8 ? 0 : -128;
  if (output->zero_points[0] != least) return sums;
  const int64_t channels = op.ShapeOf(sums)[1];
  const Factors factors = FactorsOf(*input, *weights, *output, channels);
  const Shape shape{1, channels, 1, 1};
  const ValueId up = op.AddConstant(Tensor::FromValues<float>(DType::kFloat32, shape, factors.up));
  const ValueId down =
      op.AddConstant(Tensor::FromValues<float>(DType::kFloat32, shape, factors.down));
  const TfliteQuantization whole{.scales = {1}, .zero_points = {0}};
  BERTH_ASSIGN_OR_RETURN(ValueId x, op.Apply(OpKind::kMul, {sums, up}));
  BERTH_ASSIGN_OR_RETURN(x, op.Quantized(x, whole, DType::kUInt16));
  BERTH_ASSIGN_OR_RETURN(x, op.Dequantized(x, whole, 0));
  // A quarter changes nothing but halves, which then go up.
  BERTH_ASSIGN_OR_RETURN(x, op.Apply(OpKind::kAdd, {x, op.Scalar(0.25f)}));
  return op.Apply(OpKind::kMul, {x, down});
}

}  // namespace berth
