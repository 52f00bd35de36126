// ConvInteger, MatMulInteger, QLinearConv, QLinearMatMul: products on the matrix unit with int32
// sums.
//
// Zero points that are one known number go into the command. A zero point of A that is known only
// when it runs is taken off the sums: (A - a) B = A B - a colsum(B). Other forms subtract zero
// points in int32 first. Scales that are known go into the output stage; others multiply the sums.
//
// Formula: ONNX ConvInteger, MatMulInteger, QLinearConv, QLinearMatMul.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/integer_product.h"
#include "kernels/ops/quantization.h"

namespace berth {
namespace {

bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUInt8; }

// One element, or one for each of `extent` (0: only one element is allowed).
absl::Status CheckVector(const OpCall& call, int i, int64_t extent) {
  if (i < 0 || !call.HasInput(i)) return absl::OkStatus();
  const Shape& shape = call.input(i).shape;
  const bool one = shape.rank() <= 1 && shape.ElementCount() == 1;
  if (one || (extent > 0 && shape == Shape{extent})) return absl::OkStatus();
  return Unimplemented("input {} has shape {}: one element or one for each of {} is supported", i,
                       shape.ToString(), extent);
}

absl::Status CheckZeroPoint(const OpCall& call, int i, DType dtype) {
  if (i < 0 || !call.HasInput(i) || call.input(i).dtype == dtype) return absl::OkStatus();
  return InvalidArgument("input {} is {}, its tensor is {}", i, DTypeName(call.input(i).dtype),
                         DTypeName(dtype));
}

int64_t OutputChannels(const OpCall& call, const ProductOperands& o) {
  const Shape& w = call.input(o.w).shape;
  return o.kind == OpKind::kConv ? w[0] : w.rank() >= 2 ? w.back() : 1;
}
int64_t Rows(const OpCall& call, const ProductOperands& o) {
  const Shape& x = call.input(o.x).shape;
  return o.kind == OpKind::kMatMul && x.rank() >= 2 ? x[x.rank() - 2] : 0;
}

absl::StatusOr<TensorType> SumType(const OpCall& call, const ProductOperands& o) {
  SumCall sums(call, o, call.input(o.x).dtype, call.input(o.w).dtype, {});
  return sums.Infer();
}

absl::Status CheckOperands(const OpCall& call, const ProductOperands& o) {
  for (const int i : {o.x, o.w}) {
    BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kNumeric));
    if (!IsByte(call.input(i).dtype)) {
      return InvalidArgument("input {} is {}, the operator takes int8 and uint8", i,
                             DTypeName(call.input(i).dtype));
    }
  }
  if (call.input(o.w).shape.rank() < 1) return InvalidArgument("input {} is a scalar", o.w);
  const int64_t rows = Rows(call, o), channels = OutputChannels(call, o);
  BERTH_RETURN_IF_ERROR(CheckVector(call, o.x_zero_point, rows));
  BERTH_RETURN_IF_ERROR(CheckVector(call, o.w_zero_point, channels));
  BERTH_RETURN_IF_ERROR(CheckZeroPoint(call, o.x_zero_point, call.input(o.x).dtype));
  return CheckZeroPoint(call, o.w_zero_point, call.input(o.w).dtype);
}

absl::StatusOr<std::vector<TensorType>> InferInteger(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 4));
  const ProductOperands o = OperandsOf(call.node->kind);
  BERTH_RETURN_IF_ERROR(CheckOperands(call, o));
  BERTH_ASSIGN_OR_RETURN(const TensorType type, SumType(call, o));
  return std::vector<TensorType>{type};
}

absl::StatusOr<std::vector<TensorType>> InferQLinear(const OpCall& call) {
  const ProductOperands o = OperandsOf(call.node->kind);
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 8, o.bias < 0 ? 8 : 9));
  BERTH_RETURN_IF_ERROR(CheckOperands(call, o));
  for (const int i : {o.x_scale, o.w_scale, o.y_scale}) {
    BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kFloat));
    if (call.input(i).dtype != DType::kFloat32) {
      return Unimplemented("input {} (a scale) is {}", i, DTypeName(call.input(i).dtype));
    }
  }
  const int64_t rows = Rows(call, o), channels = OutputChannels(call, o);
  BERTH_RETURN_IF_ERROR(CheckVector(call, o.x_scale, rows));
  BERTH_RETURN_IF_ERROR(CheckVector(call, o.w_scale, channels));
  BERTH_RETURN_IF_ERROR(CheckVector(call, o.y_scale, 0));
  BERTH_RETURN_IF_ERROR(CheckVector(call, o.y_zero_point, 0));
  BERTH_RETURN_IF_ERROR(CheckInput(call, o.y_zero_point, DTypeClass::kNumeric));
  if (!IsByte(call.input(o.y_zero_point).dtype)) {
    return InvalidArgument("input {} is {}, the operator makes int8 and uint8", o.y_zero_point,
                           DTypeName(call.input(o.y_zero_point).dtype));
  }
  if (o.bias >= 0 && call.HasInput(o.bias) &&
      call.input(o.bias) != TensorType{DType::kInt32, Shape{channels}}) {
    return InvalidArgument("the bias is {}, not int32[{}]", call.input(o.bias).ToString(),
                           channels);
  }
  BERTH_ASSIGN_OR_RETURN(TensorType type, SumType(call, o));
  type.dtype = call.input(o.y_zero_point).dtype;
  return std::vector<TensorType>{type};
}

// An absent zero point is 0.
std::optional<int64_t> KnownZeroPoint(const OpCall& call, int i) {
  if (i < 0 || !call.HasInput(i)) return 0;
  return UniformInteger(call.Constant(i));
}

// The product as a node with these operands.
ValueId ApplyProduct(const OpCall& call, const ProductOperands& o, std::vector<ValueId> operands,
                     const QuantizedProduct& product, GraphRewriter& rewrite, ValueId result) {
  Node node;
  node.kind = o.kind;
  node.layout = call.node->layout;
  node.attributes = call.node->attributes;
  SetQuantizedProduct(node.attributes, product);
  node.inputs = std::move(operands);
  return rewrite.ApplyNode(std::move(node), result);
}

// Operand `i` less its zero point, as int32.
ValueId Centered(const OpCall& call, const ProductOperands& o, bool of_x, GraphRewriter& rewrite) {
  const std::vector<ValueId>& inputs = call.node->inputs;
  const int zero_point = of_x ? o.x_zero_point : o.w_zero_point;
  const ValueId value =
      ApplyCast(rewrite, inputs[static_cast<size_t>(of_x ? o.x : o.w)], DType::kInt32);
  if (!call.HasInput(zero_point)) return value;
  const int64_t extent = call.input(zero_point).shape.ElementCount();
  const ValueId offset = ApplyReshape(
      rewrite, ApplyCast(rewrite, inputs[static_cast<size_t>(zero_point)], DType::kInt32),
      Shape(OperandVectorShape(call, o, of_x, extent)));
  return rewrite.Apply(OpKind::kSub, {value, offset});
}

bool IsOneElement(const OpCall& call, int i) {
  return call.HasInput(i) && call.input(i).shape.ElementCount() == 1;
}

// A B - a colsum(B), where a is one number that is not known and B is known.
bool TakesOffColumnSums(const OpCall& call, const ProductOperands& o) {
  return o.kind == OpKind::kMatMul && IsOneElement(call, o.x_zero_point) &&
         KnownZeroPoint(call, o.w_zero_point) && call.Constant(o.w) != nullptr &&
         call.input(o.x).shape.rank() >= 2 && call.input(o.w).shape.rank() >= 2;
}

void ExpandByColumnSums(const OpCall& call, const ProductOperands& o, GraphRewriter& rewrite,
                        ValueId result) {
  const std::vector<ValueId>& inputs = call.node->inputs;
  QuantizedProduct product;
  product.w_zero_point = static_cast<int32_t>(*KnownZeroPoint(call, o.w_zero_point));
  const ValueId sums =
      ApplyProduct(call, o, {inputs[static_cast<size_t>(o.x)], inputs[static_cast<size_t>(o.w)]},
                   product, rewrite, ValueId::kNone);
  const ValueId centered = Centered(call, o, false, rewrite);
  const ValueId axes = rewrite.Int64s({-2});
  const ValueId column_sums = rewrite.Apply(OpKind::kReduceSum, {centered, axes});
  const ValueId a = ApplyReshape(
      rewrite, ApplyCast(rewrite, inputs[static_cast<size_t>(o.x_zero_point)], DType::kInt32),
      Shape{});
  rewrite.Apply(OpKind::kSub, {sums, rewrite.Apply(OpKind::kMul, {column_sums, a})}, {}, result);
}

absl::Status ExpandInteger(const OpCall& call, GraphRewriter& rewrite) {
  const ProductOperands o = OperandsOf(call.node->kind);
  const std::vector<ValueId>& inputs = call.node->inputs;
  const ValueId result = call.node->outputs[0];
  const auto x_zero_point = KnownZeroPoint(call, o.x_zero_point);
  const auto w_zero_point = KnownZeroPoint(call, o.w_zero_point);
  QuantizedProduct product;
  if (x_zero_point && w_zero_point) {
    product.x_zero_point = static_cast<int32_t>(*x_zero_point);
    product.w_zero_point = static_cast<int32_t>(*w_zero_point);
    ApplyProduct(call, o, {inputs[0], inputs[1]}, product, rewrite, result);
  } else if (TakesOffColumnSums(call, o)) {
    ExpandByColumnSums(call, o, rewrite, result);
  } else {
    ApplyProduct(call, o, {Centered(call, o, true, rewrite), Centered(call, o, false, rewrite)},
                 product, rewrite, result);
  }
  return rewrite.status();
}

// The factors of all channels (one where they are the same by form), where they are known.
std::optional<std::vector<float>> KnownFactors(const OpCall& call, const ProductOperands& o) {
  const auto x_scale = SingleFloat(call.Constant(o.x_scale));
  const auto y_scale = SingleFloat(call.Constant(o.y_scale));
  const Tensor* w_scales = call.Constant(o.w_scale);
  if (!x_scale || !y_scale || w_scales == nullptr) return std::nullopt;
  const auto values = ToFloatValues(w_scales->view());
  if (!values.ok()) return std::nullopt;
  std::vector<float> factors;
  for (const float w_scale : *values) factors.push_back(StageFactor(*x_scale, w_scale, *y_scale));
  return factors;
}

// Everything but the operands themselves is known: one node.
bool ExpandKnown(const OpCall& call, const ProductOperands& o, GraphRewriter& rewrite) {
  const auto factors = KnownFactors(call, o);
  const auto x_zero_point = KnownZeroPoint(call, o.x_zero_point);
  const auto w_zero_point = KnownZeroPoint(call, o.w_zero_point);
  const auto y_zero_point = KnownZeroPoint(call, o.y_zero_point);
  const bool has_bias = o.bias >= 0 && call.HasInput(o.bias);
  if (!factors || !x_zero_point || !w_zero_point || !y_zero_point) return false;
  if (has_bias && call.Constant(o.bias) == nullptr) return false;
  std::vector<int32_t> bias;
  if (has_bias) {
    const auto values = call.Constant(o.bias)->Values<int32_t>();
    bias.assign(values.begin(), values.end());
  }
  QuantizedProduct product =
      NarrowProduct(call.output().dtype, static_cast<int32_t>(*y_zero_point));
  product.x_zero_point = static_cast<int32_t>(*x_zero_point);
  product.w_zero_point = static_cast<int32_t>(*w_zero_point);
  ChannelStage stage = PackChannels(bias, *factors, OutputChannels(call, o));
  product.factor = stage.factor;
  const std::vector<ValueId>& inputs = call.node->inputs;
  std::vector<ValueId> operands = {inputs[static_cast<size_t>(o.x)],
                                   inputs[static_cast<size_t>(o.w)]};
  if (stage.bias.dtype() != DType::kUndefined) {
    operands.push_back(rewrite.Constant(std::move(stage.bias)));
  }
  ApplyProduct(call, o, std::move(operands), product, rewrite, call.node->outputs[0]);
  return true;
}

absl::Status ExpandQLinear(const OpCall& call, GraphRewriter& rewrite) {
  const ProductOperands o = OperandsOf(call.node->kind);
  if (ExpandKnown(call, o, rewrite)) return rewrite.status();
  const std::vector<ValueId>& inputs = call.node->inputs;
  const auto at = [&](int i) { return inputs[static_cast<size_t>(i)]; };
  Node integer;
  integer.kind = o.kind == OpKind::kConv ? OpKind::kConvInteger : OpKind::kMatMulInteger;
  integer.attributes = call.node->attributes;
  integer.inputs = {at(o.x), at(o.w), at(o.x_zero_point), at(o.w_zero_point)};
  ValueId sums = rewrite.ApplyNode(std::move(integer));
  if (o.bias >= 0 && call.HasInput(o.bias)) {
    const Shape shape(ChannelVectorShape(call, o, OutputChannels(call, o)));
    sums = rewrite.Apply(OpKind::kAdd, {sums, ApplyReshape(rewrite, at(o.bias), shape)});
  }
  const auto scale = [&](int i, bool of_x) {
    const int64_t extent = call.input(i).shape.ElementCount();
    return ApplyReshape(rewrite, at(i),
                        Shape(of_x ? OperandVectorShape(call, o, true, extent)
                                   : ChannelVectorShape(call, o, extent)));
  };
  const ValueId product =
      rewrite.Apply(OpKind::kMul, {scale(o.x_scale, true), scale(o.w_scale, false)});
  const ValueId factor = rewrite.Apply(OpKind::kDiv, {product, scale(o.y_scale, false)});
  const ValueId scaled =
      rewrite.Apply(OpKind::kMul, {ApplyCast(rewrite, sums, DType::kFloat32), factor});
  const ValueId zero_point = ApplyReshape(rewrite, at(o.y_zero_point), Shape{});
  rewrite.Apply(OpKind::kQuantizeLinear, {scaled, rewrite.ScalarF32(1), zero_point}, {},
                call.node->outputs[0]);
  return rewrite.status();
}

}  // namespace

#define BERTH_PRODUCT_OP(NAME, INFER, EXPAND)                                                   \
  const OpDef& NAME##Op() {                                                                     \
    static const OpDef def = {.kind = OpKind::k##NAME, .infer_types = INFER, .expand = EXPAND}; \
    return def;                                                                                 \
  }
BERTH_PRODUCT_OP(ConvInteger, InferInteger, ExpandInteger)
BERTH_PRODUCT_OP(MatMulInteger, InferInteger, ExpandInteger)
BERTH_PRODUCT_OP(QLinearConv, InferQLinear, ExpandQLinear)
BERTH_PRODUCT_OP(QLinearMatMul, InferQLinear, ExpandQLinear)
#undef BERTH_PRODUCT_OP

}  // namespace berth
