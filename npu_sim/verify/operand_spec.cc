// The table of operands and dtypes by opcode.
#include <fmt/format.h>

#include "npu_sim/verify/command_rules.h"

namespace berth::verify {
namespace {

constexpr uint8_t kOut = 1, kIn0 = 2, kIn1 = 4, kIn2 = 8, kAcc = 16;

OperandSpec DmaSpec(Opcode opcode) {
  OperandSpec spec;
  spec.required = kOut | kIn0;
  switch (opcode) {
    case Opcode::kDmaLoad:
      spec.space[1] = MemorySpace::kDram;
      break;
    case Opcode::kDmaStore:
      spec.space[0] = MemorySpace::kDram;
      break;
    case Opcode::kDmaGather:
      spec.space[1] = MemorySpace::kDram;
      spec.required |= kIn1;
      break;
    case Opcode::kDmaScatter:
      spec.space[0] = MemorySpace::kDram;
      spec.required |= kIn1;
      break;
    default:  // kDmaFill
      spec.required = kOut;
      spec.space[0] = MemorySpace::kNone;
      break;
  }
  return spec;
}

OperandSpec MatrixSpec(uint16_t flags) {
  OperandSpec spec;
  spec.required = kIn0 | kIn1 | kAcc;
  spec.optional = kIn2;
  if (flags & kFlagWriteOut) spec.required |= kOut;  // what is not written is not named either
  spec.flags = kFlagAccumulate | kFlagWriteOut;
  return spec;
}

OperandSpec VectorSpec(Opcode opcode) {
  OperandSpec spec;
  spec.required = kOut | kIn0;
  switch (opcode) {
    case Opcode::kUnary:
      spec.functions = static_cast<uint8_t>(UnaryFunction::kAtanh) + 1;
      break;
    case Opcode::kBinary:
      spec.required |= kIn1;
      spec.functions = static_cast<uint8_t>(BinaryFunction::kShiftRight) + 1;
      break;
    case Opcode::kSelect:
      spec.required |= kIn1 | kIn2;
      break;
    case Opcode::kReduce:
      spec.flags = kFlagAccumulate | kFlagFinish | kFlagLastIndex;
      spec.functions = static_cast<uint8_t>(ReduceFunction::kArgMin) + 1;
      break;
    case Opcode::kPool:
      spec.functions = static_cast<uint8_t>(PoolFunction::kAverageAll) + 1;
      break;
    case Opcode::kSoftmax:
      spec.functions = 2;
      break;
    case Opcode::kInterpolate:
      spec.required |= kIn1;
      spec.optional = kIn2;
      break;
    case Opcode::kRequantize:
    case Opcode::kQuantize:
    case Opcode::kDequantize:
      spec.optional = kIn1;
      break;
    default:
      break;
  }
  return spec;
}

bool IsShortFloat(DType dtype) { return IsFloat(dtype) && dtype != DType::kFloat64; }
bool IsShortInteger(DType dtype) { return IsInteger(dtype) && DTypeBytes(dtype) <= 4; }

std::string Mismatch(std::string_view what, DType a, DType b) {
  return fmt::format("{} ({}, {})", what, DTypeName(a), DTypeName(b));
}

std::string CheckMatrixDTypes(const Command& c) {
  const DType a = c.in0.dtype, b = c.in1.dtype;
  const bool floats = IsShortFloat(a) && a == b;
  if (!floats && !(IsShortInteger(a) && IsShortInteger(b))) {
    return Mismatch("operand dtypes do not multiply", a, b);
  }
  const DType accumulator = floats ? DType::kFloat32 : DType::kInt32;
  if (c.acc.dtype != accumulator) return Mismatch("accumulator dtype", c.acc.dtype, accumulator);
  const bool scales = !floats && c.in2.dtype == DType::kInt64;  // pairs of bias and factor
  const bool bias_fits = c.in2.dtype == accumulator || (floats && c.in2.dtype == a) || scales;
  if (c.in2.present() && !bias_fits) {
    return Mismatch("bias dtype does not fit the accumulator's", c.in2.dtype, accumulator);
  }
  if (!(c.flags & kFlagWriteOut)) return "";
  const DType out = c.out.dtype;
  if (c.in2.present() && scales && IsInteger(out) && DTypeBytes(out) >= 4) {
    return Mismatch("factors for an output that is not scaled", c.in2.dtype, out);
  }
  const bool fits =
      floats ? out == DType::kFloat32 || out == a : IsShortInteger(out) || out == DType::kFloat32;
  return fits ? ""
              : Mismatch("output dtype does not follow from the accumulator's", out, accumulator);
}

std::string CheckUnaryDTypes(const Command& c) {
  const auto function = static_cast<UnaryFunction>(c.params.vector.function);
  if (c.out.dtype != c.in0.dtype) return Mismatch("dtypes differ", c.out.dtype, c.in0.dtype);
  if (function == UnaryFunction::kNot && IsFloat(c.in0.dtype)) return "not of a float dtype";
  return "";
}

bool IsShift(BinaryFunction function) {
  return function == BinaryFunction::kShiftLeft || function == BinaryFunction::kShiftRight;
}

std::string CheckBinaryDTypes(const Command& c) {
  const auto function = static_cast<BinaryFunction>(c.params.vector.function);
  const bool power = function == BinaryFunction::kPow || function == BinaryFunction::kPowReversed;
  const bool compares =
      function >= BinaryFunction::kEqual && function <= BinaryFunction::kGreaterOrEqual;
  const bool logical = function >= BinaryFunction::kAnd && function <= BinaryFunction::kXor;
  if (power) return c.out.dtype == DType::kBool ? "a power is not bool" : "";
  if (c.in0.dtype != c.in1.dtype) return Mismatch("dtypes differ", c.in0.dtype, c.in1.dtype);
  if (IsShift(function) && !IsInteger(c.in0.dtype)) return "a shift of no integer";
  const DType expected = compares ? DType::kBool : c.in0.dtype;
  if (c.out.dtype != expected) return Mismatch("output dtype", c.out.dtype, expected);
  return logical && IsFloat(c.in0.dtype) ? "logic on a float dtype" : "";
}

std::string CheckQuantizedDTypes(const Command& c) {
  if (c.in1.present() && c.in1.dtype != DType::kFloat32) return "the scale must be float32";
  const bool in_fits =
      c.opcode == Opcode::kQuantize ? IsFloat(c.in0.dtype) : IsShortInteger(c.in0.dtype);
  const bool out_fits =
      c.opcode == Opcode::kDequantize ? IsFloat(c.out.dtype) : IsShortInteger(c.out.dtype);
  return in_fits && out_fits ? "" : Mismatch("dtypes do not fit", c.in0.dtype, c.out.dtype);
}

std::string CheckInterpolateDTypes(const Command& c) {
  if (c.in1.dtype != DType::kInt32) return "the index must be int32";
  if (c.in2.present() && c.in2.dtype != DType::kFloat32) return "the weight must be float32";
  return c.out.dtype == c.in0.dtype ? "" : Mismatch("dtypes differ", c.out.dtype, c.in0.dtype);
}

std::string CheckReduceDTypes(const Command& c) {
  const auto function = static_cast<ReduceFunction>(c.params.vector.function);
  if (function == ReduceFunction::kArgMax || function == ReduceFunction::kArgMin) {
    if (c.flags & kFlagAccumulate) return "a position cannot accumulate";
    return c.out.dtype == DType::kInt64 ? "" : "a position must be int64";
  }
  const bool fits = IsFloat(c.in0.dtype) == IsFloat(c.out.dtype);
  return fits ? "" : Mismatch("dtypes do not fit", c.out.dtype, c.in0.dtype);
}

}  // namespace

OperandSpec SpecOf(const Command& command) {
  switch (EngineOf(command.opcode)) {
    case EngineKind::kDma:
      return DmaSpec(command.opcode);
    case EngineKind::kMatrix:
      return MatrixSpec(command.flags);
    case EngineKind::kVector:
      return VectorSpec(command.opcode);
    case EngineKind::kHost:
      break;
  }
  OperandSpec host;
  host.optional = kOut | kIn0 | kIn1 | kIn2 | kAcc;
  for (MemorySpace& space : host.space) space = MemorySpace::kDram;
  return host;
}

std::string CheckDTypes(const Command& c) {
  switch (c.opcode) {
    case Opcode::kGemm:
    case Opcode::kConv:
    case Opcode::kDepthwise:
      return CheckMatrixDTypes(c);
    case Opcode::kUnary:
      return CheckUnaryDTypes(c);
    case Opcode::kBinary:
      return CheckBinaryDTypes(c);
    case Opcode::kReduce:
      return CheckReduceDTypes(c);
    case Opcode::kInterpolate:
      return CheckInterpolateDTypes(c);
    case Opcode::kRequantize:
    case Opcode::kQuantize:
    case Opcode::kDequantize:
      return CheckQuantizedDTypes(c);
    case Opcode::kSelect:
      if (c.in0.dtype != DType::kBool) return "the condition must be bool";
      if (c.in1.dtype != c.out.dtype) return Mismatch("dtypes differ", c.in1.dtype, c.out.dtype);
      return c.in2.dtype == c.out.dtype ? "" : Mismatch("dtypes differ", c.in2.dtype, c.out.dtype);
    case Opcode::kDmaGather:
    case Opcode::kDmaScatter:
      if (c.in1.dtype != DType::kInt32 && c.in1.dtype != DType::kInt64) {
        return "row numbers must be int32 or int64";
      }
      [[fallthrough]];
    case Opcode::kDmaLoad:
    case Opcode::kDmaStore:
    case Opcode::kPool:
    case Opcode::kCopy:
      return c.out.dtype == c.in0.dtype ? "" : Mismatch("dtypes differ", c.out.dtype, c.in0.dtype);
    case Opcode::kSoftmax:
      if (!IsFloat(c.in0.dtype)) return "softmax needs a float dtype";
      return c.out.dtype == c.in0.dtype ? "" : Mismatch("dtypes differ", c.out.dtype, c.in0.dtype);
    case Opcode::kInvalid:
    case Opcode::kDmaFill:
    case Opcode::kCast:
    case Opcode::kHostCall:
      return "";
  }
  return "";
}

}  // namespace berth::verify
