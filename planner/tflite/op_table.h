// Every TFLite operator that Berth imports, one line each in op_table.cc.
#pragma once

#include "planner/tflite/op_import.h"

namespace berth {

// Appends the nodes of one operator and sets its results. Errors do not name the operator: the
// caller adds it.
using TfliteOpRule = absl::Status (*)(TfliteOpImport& op);

// Null where Berth does not have the operator.
TfliteOpRule FindTfliteOp(const tfl::OperatorCode& code);

namespace tfl_ops {
// spatial.cc
absl::Status Conv2D(TfliteOpImport& op);
absl::Status DepthwiseConv2D(TfliteOpImport& op);
absl::Status AveragePool2D(TfliteOpImport& op);
absl::Status MaxPool2D(TfliteOpImport& op);
// transpose_conv.cc
absl::Status TransposeConv(TfliteOpImport& op);
absl::Status Convolution2DTransposeBias(TfliteOpImport& op);
// resample.cc
absl::Status ResizeBilinear(TfliteOpImport& op);
absl::Status ResizeNearestNeighbor(TfliteOpImport& op);
absl::Status DepthToSpace(TfliteOpImport& op);
absl::Status SpaceToDepth(TfliteOpImport& op);
// matrix.cc
absl::Status FullyConnected(TfliteOpImport& op);
absl::Status BatchMatMul(TfliteOpImport& op);
// elementwise.cc
absl::Status Add(TfliteOpImport& op);
absl::Status Sub(TfliteOpImport& op);
absl::Status Mul(TfliteOpImport& op);
absl::Status Div(TfliteOpImport& op);
absl::Status Pow(TfliteOpImport& op);
absl::Status Maximum(TfliteOpImport& op);
absl::Status Minimum(TfliteOpImport& op);
absl::Status AddN(TfliteOpImport& op);
absl::Status SquaredDifference(TfliteOpImport& op);
absl::Status Relu(TfliteOpImport& op);
absl::Status Relu6(TfliteOpImport& op);
absl::Status ReluN1To1(TfliteOpImport& op);
absl::Status Relu0To1(TfliteOpImport& op);
absl::Status Logistic(TfliteOpImport& op);
absl::Status Tanh(TfliteOpImport& op);
absl::Status HardSwish(TfliteOpImport& op);
absl::Status Exp(TfliteOpImport& op);
absl::Status Log(TfliteOpImport& op);
absl::Status Sqrt(TfliteOpImport& op);
absl::Status Rsqrt(TfliteOpImport& op);
absl::Status Square(TfliteOpImport& op);
absl::Status Abs(TfliteOpImport& op);
absl::Status Neg(TfliteOpImport& op);
absl::Status Elu(TfliteOpImport& op);
absl::Status LeakyRelu(TfliteOpImport& op);
absl::Status PRelu(TfliteOpImport& op);
absl::Status Gelu(TfliteOpImport& op);
absl::Status Convert(TfliteOpImport& op);  // QUANTIZE and DEQUANTIZE
absl::Status Cast(TfliteOpImport& op);
// reduce.cc
absl::Status Mean(TfliteOpImport& op);
absl::Status Sum(TfliteOpImport& op);
absl::Status ReduceMax(TfliteOpImport& op);
absl::Status ReduceMin(TfliteOpImport& op);
absl::Status ArgMax(TfliteOpImport& op);
absl::Status ArgMin(TfliteOpImport& op);
absl::Status Softmax(TfliteOpImport& op);
absl::Status LogSoftmax(TfliteOpImport& op);
absl::Status L2Normalization(TfliteOpImport& op);
// movement.cc
absl::Status Reshape(TfliteOpImport& op);
absl::Status ExpandDims(TfliteOpImport& op);
absl::Status Squeeze(TfliteOpImport& op);
absl::Status Transpose(TfliteOpImport& op);
absl::Status Concatenation(TfliteOpImport& op);
absl::Status Pack(TfliteOpImport& op);
absl::Status Unpack(TfliteOpImport& op);
absl::Status Split(TfliteOpImport& op);
absl::Status SplitV(TfliteOpImport& op);
absl::Status Slice(TfliteOpImport& op);
absl::Status Gather(TfliteOpImport& op);
absl::Status Tile(TfliteOpImport& op);
absl::Status BroadcastTo(TfliteOpImport& op);
absl::Status ShapeOf(TfliteOpImport& op);
// pad.cc
absl::Status Pad(TfliteOpImport& op);
absl::Status MirrorPad(TfliteOpImport& op);
// strided_slice.cc
absl::Status StridedSlice(TfliteOpImport& op);
// lstm.cc
absl::Status UnidirectionalSequenceLstm(TfliteOpImport& op);
// svdf.cc
absl::Status Svdf(TfliteOpImport& op);
}  // namespace tfl_ops

}  // namespace berth
