// One function per group of opcodes. Each executes a command that has been narrowed to its part
// (units/parts.h); matrix and pool functions take the ranges of their part instead, because a
// window does not move with its output alone.
//
// Every function touches only the bytes that npu_sim/access.h lists, and allocates nothing itself.
#pragma once

#include "absl/types/span.h"
#include "base/status.h"
#include "npu_sim/units.h"
#include "npu_sim/units/parts.h"

namespace berth {

struct UnitCall {
  const Command& command;
  const MemoryMap& memory;
  absl::Span<std::byte> scratch;
};

absl::Status ExecuteDma(const UnitCall& call);  // load, store, fill, gather, scatter

absl::Status ExecuteGemm(const UnitCall& call, const PartRanges& part);
absl::Status ExecuteConv(const UnitCall& call, const PartRanges& part);
absl::Status ExecuteDepthwise(const UnitCall& call, const PartRanges& part);
absl::Status ExecutePool(const UnitCall& call, const PartRanges& part);

absl::Status ExecuteUnary(const UnitCall& call);
absl::Status ExecuteBinary(const UnitCall& call);
absl::Status ExecuteSelect(const UnitCall& call);
absl::Status ExecuteReduce(const UnitCall& call);
absl::Status ExecuteSoftmax(const UnitCall& call);
absl::Status ExecuteCopy(const UnitCall& call);
absl::Status ExecuteCast(const UnitCall& call);
absl::Status ExecuteInterpolate(const UnitCall& call);
absl::Status ExecuteRequantize(const UnitCall& call);  // and kQuantize, kDequantize

absl::Status ExecuteHostCall(const UnitCall& call, HostFunctionTable functions);

// Working memory of a whole command; 0 for the opcodes without a function here.
int64_t GemmScratchBytes(const Command& command);
int64_t ConvScratchBytes(const Command& command);
int64_t DepthwiseScratchBytes(const Command& command);
int64_t PoolScratchBytes(const Command& command);
int64_t SoftmaxScratchBytes(const Command& command);

// The error of a dtype that a unit does not compute.
absl::Status UnsupportedDType(const Command& command, DType dtype);

}  // namespace berth
