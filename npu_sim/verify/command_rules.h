// Rule 1: what one command must look like, whatever surrounds it. All arithmetic is bounded here:
// after these checks CollectAccesses cannot overflow.
#pragma once

#include "base/status.h"
#include "npu_sim/config.h"
#include "npu_sim/program.h"

namespace berth::verify {

// Engines, regions and memory sizes of the program against the machine.
absl::Status CheckTables(const ProgramView& program, const NpuConfig& config);

// Which operands an opcode has, where they may stand and of what dtypes. `reason` stays empty when
// the command is well formed.
struct OperandSpec {
  uint8_t required = 0;  // bit i: operand i of {out, in0, in1, in2, acc}
  uint8_t optional = 0;
  // Space of each operand; kNone: DRAM or scratchpad.
  MemorySpace space[5] = {MemorySpace::kScratchpad, MemorySpace::kScratchpad,
                          MemorySpace::kScratchpad, MemorySpace::kScratchpad,
                          MemorySpace::kAccumulator};
  uint16_t flags = 0;     // allowed
  uint8_t functions = 0;  // number of functions; 0: the opcode has none
};
OperandSpec SpecOf(const Command& command);

// Empty if the dtypes fit the opcode, else what is wrong.
std::string CheckDTypes(const Command& command);

}  // namespace berth::verify
