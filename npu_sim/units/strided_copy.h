// Copies between two strided views of up to four loops, at memcpy's speed where runs are long and
// by register-blocked transposition where the contiguous loops of the two sides differ.
#pragma once

#include "npu_sim/units/loop_nest.h"

namespace berth {

// Operand 0 of the nest is written, operand 1 read; the element sizes are equal (1, 2, 4 or 8).
void CopyStrided(LoopNest nest);

}  // namespace berth
