#include "kernels/ops/quantized_product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "kernels/onnx_dtype.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/quantization.h"

namespace berth {
namespace {

bool IsProductOperand(DType dtype) { return IsQuantizedDType(dtype) || dtype == DType::kInt32; }

bool Holds(DType dtype, int32_t value) {
  if (dtype == DType::kInt32) return true;
  const IntegerRange range = RangeOfDType(dtype);
  return value >= range.least && value <= range.most;
}

absl::Status CheckBias(const OpCall& call, DType y_dtype) {
  if (!call.HasInput(2)) return absl::OkStatus();
  const DType dtype = call.input(2).dtype;
  if (dtype == DType::kInt32) return absl::OkStatus();
  if (dtype == DType::kInt64 && y_dtype != DType::kInt32) return absl::OkStatus();
  return InvalidArgument("a bias of {} with a result of {}", DTypeName(dtype), DTypeName(y_dtype));
}

}  // namespace

QuantizedProduct NarrowProduct(DType y_dtype, int32_t y_zero_point) {
  const IntegerRange range = RangeOfDType(y_dtype);
  QuantizedProduct product;
  product.y_dtype = y_dtype;
  product.y_zero_point = y_zero_point;
  product.y_least = range.least;
  product.y_most = range.most;
  return product;
}

bool IsQuantizedProduct(const Node& node) { return node.attributes.Has("x_zero_point"); }

QuantizedProduct QuantizedProductOf(const Node& node) {
  const Attributes& attributes = node.attributes;
  const auto integer = [&](std::string_view name, int32_t otherwise) {
    return static_cast<int32_t>(attributes.Int(name, otherwise));
  };
  const DType y_dtype =
      DTypeFromOnnx(attributes.Int("y_dtype", DTypeToOnnx(DType::kInt32))).value_or(DType::kInt32);
  QuantizedProduct product = NarrowProduct(y_dtype, integer("y_zero_point", 0));
  product.x_zero_point = integer("x_zero_point", 0);
  product.w_zero_point = integer("w_zero_point", 0);
  product.factor = attributes.Float("factor", 1);
  product.y_least = integer("y_least", product.y_least);
  product.y_most = integer("y_most", product.y_most);
  return product;
}

void SetQuantizedProduct(Attributes& attributes, const QuantizedProduct& product) {
  attributes.Set("x_zero_point", int64_t{product.x_zero_point});
  attributes.Set("w_zero_point", int64_t{product.w_zero_point});
  attributes.Set("y_dtype", DTypeToOnnx(product.y_dtype));
  if (product.y_dtype == DType::kInt32) return;
  attributes.Set("factor", product.factor);
  if (product.y_dtype == DType::kFloat32) return;
  attributes.Set("y_zero_point", int64_t{product.y_zero_point});
  const IntegerRange range = RangeOfDType(product.y_dtype);
  if (product.y_least != range.least) attributes.Set("y_least", int64_t{product.y_least});
  if (product.y_most != range.most) attributes.Set("y_most", int64_t{product.y_most});
}

absl::Status CheckQuantizedProduct(const OpCall& call) {
  const QuantizedProduct product = QuantizedProductOf(*call.node);
  const DType x = call.input(0).dtype, w = call.input(1).dtype;
  if (!IsProductOperand(x) || !IsProductOperand(w)) {
    return InvalidArgument("a product of {} and {}", DTypeName(x), DTypeName(w));
  }
  if (!Holds(x, product.x_zero_point) || !Holds(w, product.w_zero_point)) {
    return InvalidArgument("zero points {} of {} and {} of {}", product.x_zero_point, DTypeName(x),
                           product.w_zero_point, DTypeName(w));
  }
  const DType y = product.y_dtype;
  if (y != DType::kInt32 && y != DType::kFloat32 && !IsQuantizedDType(y)) {
    return InvalidArgument("a result of {}", DTypeName(y));
  }
  if (IsQuantizedDType(y) && !Holds(y, product.y_zero_point)) {
    return InvalidArgument("zero point {} of {}", product.y_zero_point, DTypeName(y));
  }
  return CheckBias(call, y);
}

bool BiasFits(const OpCall& call) {
  if (!call.HasInput(2)) return true;
  const DType x = call.input(0).dtype, bias = call.input(2).dtype;
  return bias == x || (IsHalf(x) && bias == DType::kFloat32);
}

DType ProductDType(const OpCall& call) {
  return IsQuantizedProduct(*call.node) ? QuantizedProductOf(*call.node).y_dtype
                                        : call.input(0).dtype;
}

DType AccumulatorDType(const OpCall& call) {
  return IsQuantizedProduct(*call.node) ? DType::kInt32 : DType::kFloat32;
}

void SetOutputStage(const QuantizedProduct& product, MatrixParams& params) {
  params.in0_zero_point = product.x_zero_point;
  params.in1_zero_point = product.w_zero_point;
  if (product.y_dtype == DType::kInt32) return;
  params.out_scale = product.factor;
  if (product.y_dtype == DType::kFloat32) return;
  params.out_zero_point = product.y_zero_point;
  const IntegerRange range = RangeOfDType(product.y_dtype);
  if (product.y_least == range.least && product.y_most == range.most) return;
  params.activation = Activation::kClip;
  params.activation_alpha = static_cast<float>(product.y_least - product.y_zero_point);
  params.activation_beta = static_cast<float>(product.y_most - product.y_zero_point);
}

ChannelStage PackChannels(const std::vector<int32_t>& bias, const std::vector<float>& factors,
                          int64_t channels) {
  ChannelStage stage;
  const bool one_factor =
      std::all_of(factors.begin(), factors.end(), [&](float f) { return f == factors[0]; });
  const auto bias_of = [&](int64_t c) { return bias.empty() ? 0 : bias[static_cast<size_t>(c)]; };
  if (one_factor) {
    stage.factor = factors[0];
    const bool no_bias = std::all_of(bias.begin(), bias.end(), [](int32_t b) { return b == 0; });
    if (!no_bias) stage.bias = Tensor::FromValues<int32_t>(DType::kInt32, Shape{channels}, bias);
    return stage;
  }
  stage.bias = Tensor(TensorType{DType::kInt64, Shape{channels}});
  for (int64_t c = 0; c < channels; ++c) {
    const uint64_t low = static_cast<uint32_t>(bias_of(c));
    const uint64_t high = std::bit_cast<uint32_t>(factors[static_cast<size_t>(c)]);
    stage.bias.Values<int64_t>()[static_cast<size_t>(c)] = static_cast<int64_t>(high << 32 | low);
  }
  return stage;
}

ChannelPair UnpackChannel(int64_t pair) {
  const auto bits = static_cast<uint64_t>(pair);
  return {static_cast<int32_t>(static_cast<uint32_t>(bits)),
          std::bit_cast<float>(static_cast<uint32_t>(bits >> 32))};
}

}  // namespace berth
