// When the buffers of a program are in use, in simulated time.
#pragma once

#include <cstdint>
#include <vector>

#include "npu_sim/program.h"
#include "npu_sim/sim_report.h"

namespace berth {

struct CycleRange {
  int64_t begin = 0, end = 0;
};

// Per slot, from the start of the first command that touches it to the end of the last; empty where
// none does. `report.commands` must be filled. O(commands).
std::vector<CycleRange> SlotCycles(const ProgramView& program, const SimReport& report);

}  // namespace berth
