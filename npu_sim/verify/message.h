// The one form of a refusal: which command, which operand, which bytes, which rule.
#pragma once

#include <string>

#include "npu_sim/access.h"
#include "npu_sim/program.h"

namespace berth::verify {

// "command 12 (dma0 dma_load, op 3)"
std::string DescribeCommand(const ProgramView& program, size_t index);
// "in0 reads scratchpad bytes [64, 128) of slot 7 (name 2)"
std::string DescribeAccess(const ProgramView& program, const Access& access);
// "pool[1]", "scratchpad", "input[0]"
std::string DescribeSpace(const ProgramView& program, MemorySpace space, uint16_t region);
// "slot 7 (name 2)"
std::string DescribeSlot(const ProgramView& program, uint32_t slot);

}  // namespace berth::verify
