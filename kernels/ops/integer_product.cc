#include "kernels/ops/integer_product.h"

#include <algorithm>
#include <cmath>

namespace berth {

ProductOperands OperandsOf(OpKind kind) {
  ProductOperands o;
  const bool is_conv = kind == OpKind::kConvInteger || kind == OpKind::kQLinearConv;
  o.kind = is_conv ? OpKind::kConv : OpKind::kMatMul;
  if (kind == OpKind::kConvInteger || kind == OpKind::kMatMulInteger) {
    o.x_zero_point = 2;
    o.w_zero_point = 3;
    return o;
  }
  o.x_scale = 1;
  o.x_zero_point = 2;
  o.w = 3;
  o.w_scale = 4;
  o.w_zero_point = 5;
  o.y_scale = 6;
  o.y_zero_point = 7;
  if (is_conv) o.bias = 8;
  return o;
}

SumCall::SumCall(const OpCall& call, const ProductOperands& operands, DType x_dtype, DType w_dtype,
                 const QuantizedProduct& product)
    : node_(*call.node), inputs_{call.input(operands.x), call.input(operands.w)} {
  node_.kind = operands.kind;
  SetQuantizedProduct(node_.attributes, product);
  node_.inputs = {call.node->inputs[static_cast<size_t>(operands.x)],
                  call.node->inputs[static_cast<size_t>(operands.w)]};
  inputs_[0].dtype = x_dtype;
  inputs_[1].dtype = w_dtype;
  call_.node = &node_;
  call_.inputs = inputs_;
}

absl::StatusOr<TensorType> SumCall::Infer() {
  BERTH_ASSIGN_OR_RETURN(outputs_, GetOpDef(node_.kind).infer_types(call_));
  call_.outputs = outputs_;
  return outputs_[0];
}

std::vector<int64_t> OperandVectorShape(const OpCall& call, const ProductOperands& operands,
                                        bool of_x, int64_t extent) {
  if (extent == 1) return {};
  if (operands.kind == OpKind::kMatMul) {
    return of_x ? std::vector<int64_t>{extent, 1} : std::vector<int64_t>{extent};
  }
  std::vector<int64_t> shape(static_cast<size_t>(call.input(operands.w).shape.rank()), 1);
  shape[0] = extent;  // weights [output channels, ...]
  return shape;
}

std::vector<int64_t> ChannelVectorShape(const OpCall& call, const ProductOperands& operands,
                                        int64_t extent) {
  if (extent == 1) return {};
  if (operands.kind == OpKind::kMatMul) return {extent};
  std::vector<int64_t> shape(static_cast<size_t>(call.input(operands.x).shape.rank() - 1), 1);
  shape[0] = extent;
  return shape;
}

float FixedPointFactor(float x_scale, float w_scale, float y_scale, int bits) {
  int exponent = 0;
  const double mantissa = std::frexp(double{x_scale} * w_scale / y_scale, &exponent);
  const double steps = std::ldexp(1.0, bits);
  const double rounded = std::min(std::round(mantissa * steps), steps - 1);
  return static_cast<float>(std::ldexp(rounded, exponent - bits));
}

}  // namespace berth
