// The functional half's entry points: dispatch by opcode.
#include "npu_sim/units/unit_ops.h"

namespace berth {
namespace {

absl::Status ExecuteMatrix(const UnitCall& call, int part) {
  const PartRanges ranges = RangesOfPart(call.command, part);
  switch (call.command.opcode) {
    case Opcode::kGemm:
      return ExecuteGemm(call, ranges);
    case Opcode::kConv:
      return ExecuteConv(call, ranges);
    default:
      return ExecuteDepthwise(call, ranges);
  }
}

absl::Status ExecuteVector(const UnitCall& call) {
  switch (call.command.opcode) {
    case Opcode::kUnary:
      return ExecuteUnary(call);
    case Opcode::kBinary:
      return ExecuteBinary(call);
    case Opcode::kSelect:
      return ExecuteSelect(call);
    case Opcode::kReduce:
      return ExecuteReduce(call);
    case Opcode::kSoftmax:
      return ExecuteSoftmax(call);
    case Opcode::kCopy:
      return ExecuteCopy(call);
    case Opcode::kCast:
      return ExecuteCast(call);
    case Opcode::kInterpolate:
      return ExecuteInterpolate(call);
    case Opcode::kRequantize:
    case Opcode::kQuantize:
    case Opcode::kDequantize:
      return ExecuteRequantize(call);
    default:
      return Internal("opcode {} is unknown", static_cast<int>(call.command.opcode));
  }
}

}  // namespace

int64_t ScratchBytes(const Command& command) {
  switch (command.opcode) {
    case Opcode::kGemm:
      return GemmScratchBytes(command);
    case Opcode::kConv:
      return ConvScratchBytes(command);
    case Opcode::kDepthwise:
      return DepthwiseScratchBytes(command);
    case Opcode::kPool:
      return PoolScratchBytes(command);
    case Opcode::kSoftmax:
      return SoftmaxScratchBytes(command);
    default:
      return 0;
  }
}

int PartCount(const Command& command) { return PlanParts(command).count; }

absl::Status ExecuteCommand(const Command& command, int part, const MemoryMap& memory,
                            absl::Span<std::byte> scratch, HostFunctionTable host_functions) {
  const UnitCall whole{command, memory, scratch};
  switch (command.opcode) {
    case Opcode::kHostCall:
      return ExecuteHostCall(whole, host_functions);
    case Opcode::kGemm:
    case Opcode::kConv:
    case Opcode::kDepthwise:
      return ExecuteMatrix(whole, part);
    case Opcode::kPool:
      return ExecutePool(whole, RangesOfPart(command, part));
    default:
      break;
  }
  const Command narrowed = NarrowToPart(command, part);
  const UnitCall call{narrowed, memory, scratch};
  switch (command.opcode) {
    case Opcode::kDmaLoad:
    case Opcode::kDmaStore:
    case Opcode::kDmaFill:
    case Opcode::kDmaGather:
    case Opcode::kDmaScatter:
      return ExecuteDma(call);
    default:
      return ExecuteVector(call);
  }
}

absl::Status UnsupportedDType(const Command& command, DType dtype) {
  return Unimplemented("{}: dtype {} (out {}, in0 {}, in1 {})", OpcodeName(command.opcode),
                       DTypeName(dtype), DTypeName(command.out.dtype), DTypeName(command.in0.dtype),
                       DTypeName(command.in1.dtype));
}

}  // namespace berth
