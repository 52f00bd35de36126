// When each command runs: event-driven, one event per command, integer cycles, independent of data
// and of host threads.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "npu_sim/config.h"
#include "npu_sim/program.h"
#include "npu_sim/sim_report.h"

namespace berth {

struct CommandTiming {
  int64_t start_cycle = 0;   // the engine begins (waits satisfied)
  int64_t finish_cycle = 0;  // the semaphore is signalled
  StallCause stall_cause = StallCause::kNone;  // why the engine stood still before it
  int64_t stall_cycles = 0;
};

struct TimingOptions {
  bool record_commands = false;  // fill SimReport::commands (memory linear in commands)
};

// The program must verify. Internal if it deadlocks (a verified program cannot).
absl::StatusOr<SimReport> SimulateTiming(const ProgramView& program, const NpuConfig& config,
                                         const TimingOptions& options = {});

// Cycles of one command on its own engine, operands in place: compute, or scratchpad port and bank
// limits, whichever is larger. For DMA: set-up plus the scratchpad side only.
int64_t CommandCycles(const Command& command, const NpuConfig& config);
// Multiply-accumulates of a matrix command; 0 otherwise.
int64_t CommandMacs(const Command& command);

}  // namespace berth
