#include "kernels/reference/quantized_product.h"

#include <algorithm>
#include <cmath>

#include "kernels/reference/doubles.h"

namespace berth {

void CenterOperands(const Node& node, std::vector<double>& x, std::vector<double>& w) {
  const QuantizedProduct product = QuantizedProductOf(node);
  for (double& value : x) value -= product.x_zero_point;
  for (double& value : w) value -= product.w_zero_point;
}

void FinishQuantizedProduct(const OpCall& call, int channel_axis, const std::vector<double>& sums,
                            absl::Span<const ConstTensorView> inputs, const TensorView& output) {
  const QuantizedProduct product = QuantizedProductOf(*call.node);
  const Shape& shape = call.output().shape;
  const int64_t channels = channel_axis < 0 ? 1 : shape[channel_axis];
  const int64_t inner = channel_axis < 0 ? 1 : shape.Product(channel_axis + 1, shape.rank());
  const auto stage_of = [&](size_t c) -> ChannelPair {
    if (!call.HasInput(2)) return {0, product.factor};
    if (call.input(2).dtype == DType::kInt64) return UnpackChannel(inputs[2].Values<int64_t>()[c]);
    return {inputs[2].Values<int32_t>()[c], product.factor};
  };
  std::vector<double> y;
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto channel = static_cast<size_t>(static_cast<int64_t>(i) / inner % channels);
    const ChannelPair stage = stage_of(channel);
    const uint64_t wide = static_cast<uint64_t>(static_cast<int64_t>(sums[i])) +
                          static_cast<uint64_t>(int64_t{stage.bias});
    const auto sum = static_cast<int32_t>(static_cast<uint32_t>(wide));
    const float scaled = static_cast<float>(sum) * stage.factor;
    if (product.y_dtype == DType::kInt32) {
      y.push_back(sum);
    } else if (product.y_dtype == DType::kFloat32) {
      y.push_back(scaled);
    } else {
      // 16-bit results take the product in float64.
      const bool wide_product = DTypeBytes(product.y_dtype) > 1;
      const double steps = wide_product ? double{stage.factor} * sum : double{scaled};
      y.push_back(std::clamp<double>(std::nearbyint(steps) + product.y_zero_point, product.y_least,
                                     product.y_most));
    }
  }
  FromDoubles(y, output);
}

}  // namespace berth
