// References of the integer products and of com.microsoft's quantized operators.
#include <algorithm>
#include <cmath>

#include "kernels/ops/integer_product.h"
#include "kernels/ops/qlinear_float.h"
#include "kernels/ops/quantization.h"
#include "kernels/reference/arithmetic.h"
#include "kernels/reference/doubles.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;

// An operand less its zero point.
absl::StatusOr<Tensor> Centered(const OpCall& call, const ProductOperands& o, bool of_x,
                                Inputs inputs) {
  const auto operand = static_cast<size_t>(of_x ? o.x : o.w);
  const int zero_point = of_x ? o.x_zero_point : o.w_zero_point;
  const Shape& shape = inputs[operand].type.shape;
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64Values(inputs[operand]));
  std::vector<int64_t> offsets = {0};
  if (call.HasInput(zero_point)) {
    BERTH_ASSIGN_OR_RETURN(offsets, ToInt64Values(inputs[static_cast<size_t>(zero_point)]));
  }
  const Shape offset_shape(OperandVectorShape(call, o, of_x, static_cast<int64_t>(offsets.size())));
  const std::vector<size_t> position = BroadcastIndices(offset_shape, shape);
  Tensor result(TensorType{DType::kInt32, shape});
  for (size_t i = 0; i < values.size(); ++i) {
    result.Values<int32_t>()[i] = static_cast<int32_t>(values[i] - offsets[position[i]]);
  }
  return result;
}

// The int32 sums of the product.
absl::StatusOr<Tensor> Sums(const OpCall& call, const ProductOperands& o, Inputs inputs) {
  BERTH_ASSIGN_OR_RETURN(const Tensor x, Centered(call, o, true, inputs));
  BERTH_ASSIGN_OR_RETURN(const Tensor w, Centered(call, o, false, inputs));
  SumCall sums(call, o, DType::kInt32, DType::kInt32, {});
  BERTH_ASSIGN_OR_RETURN(const TensorType type, sums.Infer());
  Tensor result(type);
  const std::vector<ConstTensorView> operands = {x.view(), w.view()};
  const std::vector<TensorView> outputs = {result.view()};
  BERTH_RETURN_IF_ERROR(GetReference(o.kind)(sums.call(), operands, outputs));
  return result;
}

absl::Status IntegerReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  BERTH_ASSIGN_OR_RETURN(const Tensor sums, Sums(call, OperandsOf(call.node->kind), inputs));
  std::copy(sums.bytes().begin(), sums.bytes().end(), outputs[0].data);
  return absl::OkStatus();
}

double Saturated(double value, const IntegerRange& range) {
  return std::clamp<double>(value, range.least, range.most);
}

absl::Status QLinearProductReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const ProductOperands o = OperandsOf(call.node->kind);
  BERTH_ASSIGN_OR_RETURN(const Tensor sums, Sums(call, o, inputs));
  const auto floats = [&](int i) { return *ToFloatValues(inputs[static_cast<size_t>(i)]); };
  const std::vector<float> x_scale = floats(o.x_scale), w_scale = floats(o.w_scale);
  const float y_scale = floats(o.y_scale)[0];
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> zero_point,
                         ToInt64Values(inputs[static_cast<size_t>(o.y_zero_point)]));
  const Shape& shape = sums.shape();
  const auto count = [](const std::vector<float>& v) { return static_cast<int64_t>(v.size()); };
  const auto x_at =
      BroadcastIndices(Shape(OperandVectorShape(call, o, true, count(x_scale))), shape);
  const auto w_at = BroadcastIndices(Shape(ChannelVectorShape(call, o, count(w_scale))), shape);
  std::vector<size_t> bias_at;
  absl::Span<const int32_t> bias;
  if (o.bias >= 0 && call.HasInput(o.bias)) {
    bias = inputs[static_cast<size_t>(o.bias)].Values<int32_t>();
    bias_at = BroadcastIndices(
        Shape(ChannelVectorShape(call, o, static_cast<int64_t>(bias.size()))), shape);
  }
  const IntegerRange range = RangeOfDType(call.output().dtype);
  std::vector<double> y;
  for (size_t i = 0; i < sums.Values<int32_t>().size(); ++i) {
    uint32_t sum = static_cast<uint32_t>(sums.Values<int32_t>()[i]);
    if (!bias.empty()) sum += static_cast<uint32_t>(bias[bias_at[i]]);
    const float scaled = static_cast<float>(static_cast<int32_t>(sum)) *
                         StageFactor(x_scale[x_at[i]], w_scale[w_at[i]], y_scale);
    y.push_back(Saturated(std::nearbyint(scaled) + static_cast<double>(zero_point[0]), range));
  }
  FromDoubles(y, outputs[0]);
  return absl::OkStatus();
}

// (value - zero point) * scale for the tensor at input `first`, by the reference of
// DequantizeLinear.
absl::StatusOr<Tensor> Dequantized(const OpCall& call, int first, Inputs inputs) {
  Node node;
  node.kind = OpKind::kDequantizeLinear;
  if (call.node->kind == OpKind::kQGemm) {
    node.attributes.Set("axis",
                        call.node->attributes.Int("transB", 0) != 0 ? int64_t{0} : int64_t{1});
  }
  std::vector<TensorType> types;
  std::vector<ConstTensorView> operands;
  for (int i = first; i < first + 3; ++i) {
    const bool present = call.HasInput(i);
    types.push_back(present ? call.input(i) : TensorType{});
    operands.push_back(present ? inputs[static_cast<size_t>(i)] : ConstTensorView{});
  }
  OpCall inner;
  inner.node = &node;
  inner.inputs = types;
  const std::vector<TensorType> results = {{DType::kFloat32, types[0].shape}};
  inner.outputs = results;
  Tensor result(results[0]);
  const std::vector<TensorView> outputs = {result.view()};
  BERTH_RETURN_IF_ERROR(DequantizeLinearReference(inner, operands, outputs));
  return result;
}

absl::StatusOr<Tensor> DequantizedBias(const QLinearOperands& o, Inputs inputs) {
  const ConstTensorView& bias = inputs[static_cast<size_t>(o.bias)];
  BERTH_ASSIGN_OR_RETURN(const std::vector<float> a,
                         ToFloatValues(inputs[static_cast<size_t>(o.operands[0] + 1)]));
  BERTH_ASSIGN_OR_RETURN(const std::vector<float> b,
                         ToFloatValues(inputs[static_cast<size_t>(o.operands[1] + 1)]));
  Tensor result(TensorType{DType::kFloat32, bias.type.shape});
  for (size_t i = 0; i < bias.Values<int32_t>().size(); ++i) {
    const float scale = a[0] * b[b.size() == 1 ? 0 : i % b.size()];
    result.Values<float>()[i] = static_cast<float>(bias.Values<int32_t>()[i]) * scale;
  }
  return result;
}

absl::Status QuantizeResult(const OpCall& call, int y_scale, const Tensor& y, Inputs inputs,
                            Outputs outputs) {
  Node node;
  node.kind = OpKind::kQuantizeLinear;
  std::vector<TensorType> types = {y.type()};
  std::vector<ConstTensorView> operands = {y.view()};
  for (int i = y_scale; i < y_scale + 2; ++i) {
    if (!call.HasInput(i)) break;
    types.push_back(call.input(i));
    operands.push_back(inputs[static_cast<size_t>(i)]);
  }
  OpCall quantize;
  quantize.node = &node;
  quantize.inputs = types;
  quantize.outputs = call.outputs;
  return QuantizeLinearReference(quantize, operands, outputs);
}

absl::Status QLinearFloatReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const QLinearOperands o = OperandsOfQLinear(call);
  BERTH_ASSIGN_OR_RETURN(InnerCall inner, InnerCallOf(call));
  BERTH_ASSIGN_OR_RETURN(const std::vector<TensorType> types, inner.Infer());
  std::vector<Tensor> operands;
  for (const int first : o.operands) {
    BERTH_ASSIGN_OR_RETURN(Tensor operand, Dequantized(call, first, inputs));
    operands.push_back(std::move(operand));
  }
  if (o.bias >= 0 && call.HasInput(o.bias)) {
    BERTH_ASSIGN_OR_RETURN(Tensor bias, DequantizedBias(o, inputs));
    operands.push_back(std::move(bias));
  }
  std::vector<ConstTensorView> views;
  for (const Tensor& operand : operands) views.push_back(operand.view());
  if (!call.HasInput(o.y_scale)) return GetReference(o.inner)(inner.call, views, outputs);
  Tensor y(types[0]);
  const std::vector<TensorView> results = {y.view()};
  BERTH_RETURN_IF_ERROR(GetReference(o.inner)(inner.call, views, results));
  return QuantizeResult(call, o.y_scale, y, inputs, outputs);
}

}  // namespace

#define BERTH_REFERENCE_BY(NAME, FUNCTION)                                           \
  absl::Status NAME##Reference(const OpCall& call, Inputs inputs, Outputs outputs) { \
    return FUNCTION(call, inputs, outputs);                                          \
  }
BERTH_REFERENCE_BY(ConvInteger, IntegerReference)
BERTH_REFERENCE_BY(MatMulInteger, IntegerReference)
BERTH_REFERENCE_BY(QLinearConv, QLinearProductReference)
BERTH_REFERENCE_BY(QLinearMatMul, QLinearProductReference)
BERTH_REFERENCE_BY(QLinearAdd, QLinearFloatReference)
BERTH_REFERENCE_BY(QLinearMul, QLinearFloatReference)
BERTH_REFERENCE_BY(QLinearSigmoid, QLinearFloatReference)
BERTH_REFERENCE_BY(QLinearLeakyRelu, QLinearFloatReference)
BERTH_REFERENCE_BY(QLinearAveragePool, QLinearFloatReference)
BERTH_REFERENCE_BY(QLinearGlobalAveragePool, QLinearFloatReference)
BERTH_REFERENCE_BY(QLinearConcat, QLinearFloatReference)
BERTH_REFERENCE_BY(QGemm, QLinearFloatReference)
#undef BERTH_REFERENCE_BY

}  // namespace berth
