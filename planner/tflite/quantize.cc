// QuantizeLinear and DequantizeLinear of TFLite's scales and zero points.
#include "planner/passes/quantized_products.h"
#include "planner/tflite/op_import.h"

namespace berth {
namespace {

Shape ParameterShape(const TfliteQuantization& quantization) {
  if (!quantization.per_axis()) return Shape{};
  return Shape{static_cast<int64_t>(quantization.scales.size())};
}

Tensor Scales(const TfliteQuantization& quantization) {
  return Tensor::FromValues<float>(DType::kFloat32, ParameterShape(quantization),
                                   quantization.scales);
}

// In range of the dtype: checked when they were read.
Tensor ZeroPoints(const TfliteQuantization& quantization, DType dtype) {
  Tensor tensor(TensorType{dtype, ParameterShape(quantization)});
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      const absl::Span<T> out = tensor.Values<T>();
      for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(quantization.zero_points[i]);
    }
  });
  return tensor;
}

Attributes Axis(int axis) {
  Attributes attributes;
  attributes.Set("axis", int64_t{axis});
  return attributes;
}

}  // namespace

absl::StatusOr<ValueId> TfliteOpImport::Dequantized(ValueId stored,
                                                    const TfliteQuantization& quantization,
                                                    int axis) {
  const ValueId scale = AddConstant(Scales(quantization));
  const ValueId zero = AddConstant(ZeroPoints(quantization, TypeOf(stored).dtype));
  return Apply(OpKind::kDequantizeLinear, {stored, scale, zero}, Axis(axis));
}

// int32 steps where they fit, as the machine adds them; else reals.
absl::StatusOr<ValueId> TfliteOpImport::RealWideBias(ValueId stored,
                                                     const TfliteQuantization& quantization) {
  const Tensor* constant = Constant(stored);
  if (constant == nullptr) return Unimplemented("a bias of int64 that is known at run time only");
  std::vector<int32_t> narrow;
  for (const int64_t value : constant->view().Values<int64_t>()) {
    if (value != static_cast<int32_t>(value)) break;
    narrow.push_back(static_cast<int32_t>(value));
  }
  if (static_cast<int64_t>(narrow.size()) < constant->shape().ElementCount()) {
    BERTH_ASSIGN_OR_RETURN(Tensor real, ToRealConstant(*constant, quantization));
    return AddConstant(std::move(real));
  }
  Tensor steps = Tensor::FromValues<int32_t>(DType::kInt32, constant->shape(), narrow);
  return Dequantized(AddConstant(std::move(steps)), quantization, 0);
}

void LimitFactors(DType input, Attributes& product) {
  constexpr int64_t kBitsOfWideInputs = 15;
  if (input == DType::kInt16) product.Set(kFactorBits, kBitsOfWideInputs);
}

absl::StatusOr<ValueId> TfliteOpImport::Quantized(ValueId real,
                                                  const TfliteQuantization& quantization,
                                                  DType dtype) {
  const ValueId scale = AddConstant(Scales(quantization));
  const ValueId zero = AddConstant(ZeroPoints(quantization, dtype));
  return Apply(OpKind::kQuantizeLinear, {real, scale, zero}, Axis(quantization.axis));
}

}  // namespace berth
