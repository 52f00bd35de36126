// The integer form of Conv, ConvTranspose and MatMul, beyond ONNX, for rewrites: both operands are
// integers with one zero point each, sums are int32, and the output stage of the matrix unit makes
// the result.
//
//   sum = sum over taps of (x - x_zero_point) (w - w_zero_point); padding counts as x_zero_point
//   int32 result:    sum + bias, modulo 2^32
//   narrow integer:  clamp(round_half_even(float(sum + bias) * factor) + y_zero_point), where the
//                    product is one of float64 for 16 bits
//   float32 result:  float(sum + bias) * factor
//
// Input 2 is the bias, int32 over the output channels, or int64 pairs that also hold a factor for
// each channel (int32 bias in the low half, bits of a float32 factor in the high half).
//
// Attributes: x_zero_point (its presence makes the node one of these), w_zero_point, y_dtype (ONNX
// number), factor, y_zero_point, y_least and y_most (bounds of a narrow result).
#pragma once

#include "kernels/op_def.h"
#include "npu_sim/command.h"

namespace berth {

struct QuantizedProduct {
  int32_t x_zero_point = 0, w_zero_point = 0;
  DType y_dtype = DType::kInt32;
  float factor = 1;  // where input 2 holds none
  int32_t y_zero_point = 0;
  int32_t y_least = 0, y_most = 0;  // of a narrow result, zero point included
};

// Bounds start as the dtype's.
QuantizedProduct NarrowProduct(DType y_dtype, int32_t y_zero_point);

bool IsQuantizedProduct(const Node& node);
QuantizedProduct QuantizedProductOf(const Node& node);
void SetQuantizedProduct(Attributes& attributes, const QuantizedProduct& product);

// Operand dtypes, zero points and bias of such a node.
absl::Status CheckQuantizedProduct(const OpCall& call);
// Of float operands: whether input 2 may be added. It is float32 beside 16-bit operands where a
// rewrite says so (beyond ONNX), for sums are float32.
bool BiasFits(const OpCall& call);
// Dtype of the result of any Conv, ConvTranspose or MatMul.
DType ProductDType(const OpCall& call);
// Dtype of the accumulators.
DType AccumulatorDType(const OpCall& call);

// Zero points, factor and bounds as the command's parameters.
void SetOutputStage(const QuantizedProduct& product, MatrixParams& params);

// Input 2 for these channels: int32 where there is one factor for all (which then is `factor`),
// else pairs. `bias` may be empty (zeros).
struct ChannelStage {
  Tensor bias;  // of no element where neither bias nor factors need one
  float factor = 1;
};
ChannelStage PackChannels(const std::vector<int32_t>& bias, const std::vector<float>& factors,
                          int64_t channels);
// The halves of an element of pairs.
struct ChannelPair {
  int32_t bias = 0;
  float factor = 1;
};
ChannelPair UnpackChannel(int64_t pair);

}  // namespace berth
