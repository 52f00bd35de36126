// ConvInteger, MatMulInteger, QLinearConv and QLinearMatMul: which operand is what, and the integer
// product inside them.
#pragma once

#include "kernels/ops/quantized_product.h"

namespace berth {

// Positions of a product's operands among the inputs of such an op; -1: it has none.
struct ProductOperands {
  OpKind kind = OpKind::kConv;  // kConv or kMatMul
  int x = 0, x_scale = -1, x_zero_point = -1;
  int w = 1, w_scale = -1, w_zero_point = -1;
  int y_scale = -1, y_zero_point = -1;
  int bias = -1;
};
ProductOperands OperandsOf(OpKind kind);

// The int32 sums of the op as a node of its own, with the operands in positions 0 and 1: a call to
// give to the rules of Conv and MatMul.
class SumCall {
 public:
  SumCall(const OpCall& call, const ProductOperands& operands, DType x_dtype, DType w_dtype,
          const QuantizedProduct& product);
  absl::StatusOr<TensorType> Infer();  // completes the call
  const OpCall& call() const { return call_; }

 private:
  Node node_;
  TensorType inputs_[2];
  std::vector<TensorType> outputs_;
  OpCall call_;
};

// The shape in which a scale or zero point of the weights (or, `of_x`, of A's rows) broadcasts to
// that operand, and the one in which a vector over output channels broadcasts to the result.
std::vector<int64_t> OperandVectorShape(const OpCall& call, const ProductOperands& operands,
                                        bool of_x, int64_t extent);
std::vector<int64_t> ChannelVectorShape(const OpCall& call, const ProductOperands& operands,
                                        int64_t extent);

// factor = x_scale * w_scale / y_scale, in this order in float32.
inline float StageFactor(float x_scale, float w_scale, float y_scale) {
  return x_scale * w_scale / y_scale;
}
// The same with `bits` (1 to 24) significant bits, at most all ones.
float FixedPointFactor(float x_scale, float w_scale, float y_scale, int bits);

}  // namespace berth
