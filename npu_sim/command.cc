#include "npu_sim/command.h"

namespace berth {

std::string_view OpcodeName(Opcode opcode) {
  switch (opcode) {
    case Opcode::kInvalid:
      return "invalid";
    case Opcode::kDmaLoad:
      return "dma_load";
    case Opcode::kDmaStore:
      return "dma_store";
    case Opcode::kDmaFill:
      return "dma_fill";
    case Opcode::kDmaGather:
      return "dma_gather";
    case Opcode::kDmaScatter:
      return "dma_scatter";
    case Opcode::kGemm:
      return "gemm";
    case Opcode::kConv:
      return "conv";
    case Opcode::kDepthwise:
      return "depthwise";
    case Opcode::kUnary:
      return "unary";
    case Opcode::kBinary:
      return "binary";
    case Opcode::kSelect:
      return "select";
    case Opcode::kReduce:
      return "reduce";
    case Opcode::kPool:
      return "pool";
    case Opcode::kSoftmax:
      return "softmax";
    case Opcode::kCopy:
      return "copy";
    case Opcode::kCast:
      return "cast";
    case Opcode::kInterpolate:
      return "interpolate";
    case Opcode::kRequantize:
      return "requantize";
    case Opcode::kQuantize:
      return "quantize";
    case Opcode::kDequantize:
      return "dequantize";
    case Opcode::kHostCall:
      return "host_call";
  }
  return "invalid";
}

EngineKind EngineOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kDmaLoad:
    case Opcode::kDmaStore:
    case Opcode::kDmaFill:
    case Opcode::kDmaGather:
    case Opcode::kDmaScatter:
      return EngineKind::kDma;
    case Opcode::kGemm:
    case Opcode::kConv:
    case Opcode::kDepthwise:
      return EngineKind::kMatrix;
    case Opcode::kInvalid:
    case Opcode::kHostCall:
      return EngineKind::kHost;
    default:
      return EngineKind::kVector;
  }
}

std::string_view UnaryFunctionName(UnaryFunction function) {
  switch (function) {
    case UnaryFunction::kIdentity:
      return "identity";
    case UnaryFunction::kRelu:
      return "relu";
    case UnaryFunction::kLeakyRelu:
      return "leaky_relu";
    case UnaryFunction::kClip:
      return "clip";
    case UnaryFunction::kSigmoid:
      return "sigmoid";
    case UnaryFunction::kHardSigmoid:
      return "hard_sigmoid";
    case UnaryFunction::kHardSwish:
      return "hard_swish";
    case UnaryFunction::kTanh:
      return "tanh";
    case UnaryFunction::kExp:
      return "exp";
    case UnaryFunction::kLog:
      return "log";
    case UnaryFunction::kSqrt:
      return "sqrt";
    case UnaryFunction::kNeg:
      return "neg";
    case UnaryFunction::kAbs:
      return "abs";
    case UnaryFunction::kErf:
      return "erf";
    case UnaryFunction::kGelu:
      return "gelu";
    case UnaryFunction::kGeluTanh:
      return "gelu_tanh";
    case UnaryFunction::kSoftplus:
      return "softplus";
    case UnaryFunction::kElu:
      return "elu";
    case UnaryFunction::kReciprocal:
      return "reciprocal";
    case UnaryFunction::kRsqrt:
      return "rsqrt";
    case UnaryFunction::kSquare:
      return "square";
    case UnaryFunction::kNot:
      return "not";
    case UnaryFunction::kAffine:
      return "affine";
    case UnaryFunction::kFloor:
      return "floor";
    case UnaryFunction::kCeil:
      return "ceil";
    case UnaryFunction::kRound:
      return "round";
    case UnaryFunction::kSign:
      return "sign";
    case UnaryFunction::kSin:
      return "sin";
    case UnaryFunction::kCos:
      return "cos";
    case UnaryFunction::kSilu:
      return "silu";
    case UnaryFunction::kTan:
      return "tan";
    case UnaryFunction::kAsin:
      return "asin";
    case UnaryFunction::kAcos:
      return "acos";
    case UnaryFunction::kAtan:
      return "atan";
    case UnaryFunction::kSinh:
      return "sinh";
    case UnaryFunction::kCosh:
      return "cosh";
    case UnaryFunction::kAsinh:
      return "asinh";
    case UnaryFunction::kAcosh:
      return "acosh";
    case UnaryFunction::kAtanh:
      return "atanh";
  }
  return "invalid";
}

std::string_view BinaryFunctionName(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::kAdd:
      return "add";
    case BinaryFunction::kSub:
      return "sub";
    case BinaryFunction::kMul:
      return "mul";
    case BinaryFunction::kDiv:
      return "div";
    case BinaryFunction::kPow:
      return "pow";
    case BinaryFunction::kMax:
      return "max";
    case BinaryFunction::kMin:
      return "min";
    case BinaryFunction::kPRelu:
      return "prelu";
    case BinaryFunction::kEqual:
      return "equal";
    case BinaryFunction::kLess:
      return "less";
    case BinaryFunction::kLessOrEqual:
      return "less_or_equal";
    case BinaryFunction::kGreater:
      return "greater";
    case BinaryFunction::kGreaterOrEqual:
      return "greater_or_equal";
    case BinaryFunction::kAnd:
      return "and";
    case BinaryFunction::kOr:
      return "or";
    case BinaryFunction::kXor:
      return "xor";
    case BinaryFunction::kMod:
      return "mod";
    case BinaryFunction::kSubReversed:
      return "sub_reversed";
    case BinaryFunction::kDivReversed:
      return "div_reversed";
    case BinaryFunction::kPowReversed:
      return "pow_reversed";
    case BinaryFunction::kShiftLeft:
      return "shift_left";
    case BinaryFunction::kShiftRight:
      return "shift_right";
  }
  return "invalid";
}

std::string_view ReduceFunctionName(ReduceFunction function) {
  switch (function) {
    case ReduceFunction::kSum:
      return "sum";
    case ReduceFunction::kMax:
      return "max";
    case ReduceFunction::kMin:
      return "min";
    case ReduceFunction::kProd:
      return "prod";
    case ReduceFunction::kSumSquares:
      return "sum_squares";
    case ReduceFunction::kSumAbs:
      return "sum_abs";
    case ReduceFunction::kArgMax:
      return "arg_max";
    case ReduceFunction::kArgMin:
      return "arg_min";
  }
  return "invalid";
}

}  // namespace berth
