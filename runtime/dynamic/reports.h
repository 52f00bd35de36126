// Figures of a run that is made of several programs and of work on the host.
#pragma once

#include "npu_sim/config.h"
#include "npu_sim/sim_report.h"

namespace berth {

// One after the other: everything adds up. `total` may be empty. What is told for each op or
// command is kept only where there is one part.
void AddReport(const SimReport& part, SimReport& total);

// `bytes` read and written by the host engine while the others wait for it.
SimReport HostReport(int64_t bytes, const NpuConfig& config);

}  // namespace berth
