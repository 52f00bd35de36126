// The waits of a program: which command must have finished before another starts, as counts of
// finished commands per engine.
#pragma once

#include "npu_sim/program.h"

namespace berth {

// Fills program.waits and the commands' ranges of them from the bytes that the commands touch (read
// after write, write after read, write after write). Minimal: none is implied by queue order or by
// the others. Engines, regions and sizes must be set, every access inside them.
//
// Only accesses that nothing orders before the command yet are compared with it, so that a program
// costs about O(accesses x (granules + accesses in flight)), whatever its length; all conflicts
// (ComputeHazards) are many more.
void DeriveWaits(TileProgram& program);

}  // namespace berth
