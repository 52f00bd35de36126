// What each command computes, at host speed. Stateless: all bytes are the caller's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "base/status.h"
#include "npu_sim/command.h"

namespace berth {

// Where the machine's memories are on the host. Regions follow TileProgram::regions; constants and
// inputs are never written.
struct MemoryMap {
  std::byte* scratchpad = nullptr;
  std::byte* accumulator = nullptr;
  absl::Span<std::byte* const> regions;
};

// A function of the host engine: `operands` are {out, in0, in1, in2, acc} as base pointers (null
// where absent).
struct HostCall {
  const Command* command = nullptr;
  std::byte* operands[5] = {};
};
using HostFunction = absl::Status (*)(const HostCall& call);
using HostFunctionTable = absl::Span<const HostFunction>;

// Working memory that one command needs on the host beside the machine's (im2col rows and the
// like). The caller owns one such buffer per worker, 64-byte aligned.
int64_t ScratchBytes(const Command& command);

// Independent parts into which a command may be split for parallel execution (>= 1). Depends on the
// command only, never on threads, so results are the same bits for any number of threads.
int PartCount(const Command& command);

// Innermost steps of the longest part, taps of a window counted: about a nanosecond each on the
// host. What a host call does beside is not known.
int64_t StepsPerPart(const Command& command);

// Executes part `part` of PartCount(command). The command must have passed VerifyCommand. Fails
// only where the data can make it fail (an index out of range, a host function).
absl::Status ExecuteCommand(const Command& command, int part, const MemoryMap& memory,
                            absl::Span<std::byte> scratch, HostFunctionTable host_functions);

}  // namespace berth
