// Cycles of the vector unit. Derivation: docs/machine.md, "Vector unit".
#pragma once

#include <cstdint>

#include "npu_sim/command.h"
#include "npu_sim/config.h"

namespace berth::timing {

struct VectorCost {
  int64_t cycles = 0;
  int64_t elements = 0;  // steps of the innermost work
  int64_t in0_bytes = 0, in1_bytes = 0, in2_bytes = 0, out_read_bytes = 0, out_bytes = 0;
};
VectorCost CostOfVector(const Command& command, const VectorConfig& config);

}  // namespace berth::timing
