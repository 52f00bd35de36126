#include "planner/tflite/op_table.h"

#include "planner/tflite/checks.h"

namespace berth {
namespace {

using Op = tfl::BuiltinOperator;

struct Entry {
  Op code;
  TfliteOpRule rule;
};

constexpr Entry kBuiltins[] = {
    {Op::CONV_2D, tfl_ops::Conv2D},
    {Op::DEPTHWISE_CONV_2D, tfl_ops::DepthwiseConv2D},
    {Op::AVERAGE_POOL_2D, tfl_ops::AveragePool2D},
    {Op::MAX_POOL_2D, tfl_ops::MaxPool2D},
    {Op::TRANSPOSE_CONV, tfl_ops::TransposeConv},
    {Op::RESIZE_BILINEAR, tfl_ops::ResizeBilinear},
    {Op::RESIZE_NEAREST_NEIGHBOR, tfl_ops::ResizeNearestNeighbor},
    {Op::DEPTH_TO_SPACE, tfl_ops::DepthToSpace},
    {Op::SPACE_TO_DEPTH, tfl_ops::SpaceToDepth},
    {Op::FULLY_CONNECTED, tfl_ops::FullyConnected},
    {Op::BATCH_MATMUL, tfl_ops::BatchMatMul},
    {Op::ADD, tfl_ops::Add},
    {Op::SUB, tfl_ops::Sub},
    {Op::MUL, tfl_ops::Mul},
    {Op::DIV, tfl_ops::Div},
    {Op::POW, tfl_ops::Pow},
    {Op::MAXIMUM, tfl_ops::Maximum},
    {Op::MINIMUM, tfl_ops::Minimum},
    {Op::ADD_N, tfl_ops::AddN},
    {Op::SQUARED_DIFFERENCE, tfl_ops::SquaredDifference},
    {Op::RELU, tfl_ops::Relu},
    {Op::RELU6, tfl_ops::Relu6},
    {Op::RELU_N1_TO_1, tfl_ops::ReluN1To1},
    {Op::RELU_0_TO_1, tfl_ops::Relu0To1},
    {Op::LOGISTIC, tfl_ops::Logistic},
    {Op::TANH, tfl_ops::Tanh},
    {Op::HARD_SWISH, tfl_ops::HardSwish},
    {Op::EXP, tfl_ops::Exp},
    {Op::LOG, tfl_ops::Log},
    {Op::SQRT, tfl_ops::Sqrt},
    {Op::RSQRT, tfl_ops::Rsqrt},
    {Op::SQUARE, tfl_ops::Square},
    {Op::ABS, tfl_ops::Abs},
    {Op::NEG, tfl_ops::Neg},
    {Op::ELU, tfl_ops::Elu},
    {Op::LEAKY_RELU, tfl_ops::LeakyRelu},
    {Op::PRELU, tfl_ops::PRelu},
    {Op::GELU, tfl_ops::Gelu},
    {Op::QUANTIZE, tfl_ops::Convert},
    {Op::DEQUANTIZE, tfl_ops::Convert},
    {Op::CAST, tfl_ops::Cast},
    {Op::MEAN, tfl_ops::Mean},
    {Op::SUM, tfl_ops::Sum},
    {Op::REDUCE_MAX, tfl_ops::ReduceMax},
    {Op::REDUCE_MIN, tfl_ops::ReduceMin},
    {Op::ARG_MAX, tfl_ops::ArgMax},
    {Op::ARG_MIN, tfl_ops::ArgMin},
    {Op::SOFTMAX, tfl_ops::Softmax},
    {Op::LOG_SOFTMAX, tfl_ops::LogSoftmax},
    {Op::L2_NORMALIZATION, tfl_ops::L2Normalization},
    {Op::RESHAPE, tfl_ops::Reshape},
    {Op::EXPAND_DIMS, tfl_ops::ExpandDims},
    {Op::SQUEEZE, tfl_ops::Squeeze},
    {Op::TRANSPOSE, tfl_ops::Transpose},
    {Op::CONCATENATION, tfl_ops::Concatenation},
    {Op::PACK, tfl_ops::Pack},
    {Op::UNPACK, tfl_ops::Unpack},
    {Op::SPLIT, tfl_ops::Split},
    {Op::SPLIT_V, tfl_ops::SplitV},
    {Op::SLICE, tfl_ops::Slice},
    {Op::GATHER, tfl_ops::Gather},
    {Op::TILE, tfl_ops::Tile},
    {Op::BROADCAST_TO, tfl_ops::BroadcastTo},
    {Op::SHAPE, tfl_ops::ShapeOf},
    {Op::PAD, tfl_ops::Pad},
    {Op::PADV2, tfl_ops::Pad},
    {Op::MIRROR_PAD, tfl_ops::MirrorPad},
    {Op::STRIDED_SLICE, tfl_ops::StridedSlice},
    {Op::UNIDIRECTIONAL_SEQUENCE_LSTM, tfl_ops::UnidirectionalSequenceLstm},
    {Op::SVDF, tfl_ops::Svdf},
};

}  // namespace

TfliteOpRule FindTfliteOp(const tfl::OperatorCode& code) {
  const Op op = OperatorOf(code);
  if (op == Op::CUSTOM) {
    const bool known = code.custom_code() != nullptr &&
                       code.custom_code()->string_view() == "Convolution2DTransposeBias";
    return known ? tfl_ops::Convolution2DTransposeBias : nullptr;
  }
  for (const Entry& entry : kBuiltins) {
    if (entry.code == op) return entry.rule;
  }
  return nullptr;
}

}  // namespace berth
