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

struct TimingOptions {
  bool record_commands = false;  // fill SimReport::commands and accounts (memory linear in them)
};

// The program must verify. Internal if it deadlocks (a verified program cannot).
absl::StatusOr<SimReport> SimulateTiming(const ProgramView& program, const NpuConfig& config,
                                         const TimingOptions& options = {});

// Cycles of one command on its own engine, operands in place: compute, or scratchpad port and bank
// limits, whichever is larger. For DMA: set-up plus the scratchpad side only.
int64_t CommandCycles(const Command& command, const NpuConfig& config);
// The same without the scratchpad: what the unit itself takes (the array's own cycles).
int64_t ComputeCycles(const Command& command, const NpuConfig& config);
// Array cycles per int8 MAC-time of a dtype: the config's divisor of 16- and of 32-bit types.
int64_t RateDivisor(DType dtype, const MatrixConfig& matrix);
// Cycles that the full array takes for one step of a fold.
int64_t CyclesPerStep(int64_t rate_divisor, const MatrixConfig& matrix);
// Cycles that DRAM takes for so many bytes at its peak rate.
int64_t PeakDramCycles(int64_t bytes, const DramConfig& dram);
// Multiply-accumulates of a matrix command; 0 otherwise. Zeros that an upsampled input inserts are
// skipped, padding is not.
int64_t CommandMacs(const Command& command);

}  // namespace berth
