// What a simulation reports. For each engine busy + stalls by cause + idle = makespan, exactly.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "npu_sim/command.h"

namespace berth {

enum class StallCause : uint8_t {
  kNone = 0,
  kDependencyDma = 1,  // waited for a DMA channel
  kDependencyMatrix = 2,
  kDependencyVector = 3,
  kDependencyHost = 4,
  kBankConflict = 5,  // operands of one command in one bank
  kBandwidth = 6,     // DRAM busy with other channels
  kLatency = 7,       // DRAM latency not hidden
  kQueueEmpty = 8,    // all its commands were done, others' were not
};
inline constexpr int kStallCauseCount = 9;
std::string_view StallCauseName(StallCause cause);  // "dependency_dma", ...

struct CommandTiming {
  int64_t start_cycle =
      0;  // the engine begins (waits satisfied, the command before out of its way)
  int64_t finish_cycle = 0;                    // the semaphore is signalled
  StallCause stall_cause = StallCause::kNone;  // why the engine stood still before it
  int64_t stall_cycles = 0;
  // DMA: from when to when its bytes take the DRAM bus; equal if they never do.
  int64_t bus_begin_cycle = 0, bus_end_cycle = 0;
};

// A stretch of an engine's time and what it is booked to. An engine that has commands has all of
// its cycles up to the makespan in such spans, in order and without gaps: those of one cause add up
// to EngineReport's stall_cycles, the others to its busy_cycles.
struct AccountSpan {
  static constexpr uint32_t kNoCommand = UINT32_MAX;

  int64_t begin_cycle = 0, end_cycle = 0;
  uint32_t command = kNoCommand;         // worked on, or waited for; none behind the last one
  StallCause cause = StallCause::kNone;  // kNone: busy
  bool is_set_up = false;                // DMA, busy: with setting up the descriptor
};

struct EngineReport {
  EngineId engine;
  int64_t busy_cycles = 0;
  int64_t idle_cycles = 0;  // all of them, of an engine without commands
  std::array<int64_t, kStallCauseCount> stall_cycles{};  // by cause; [kNone] stays 0
  int64_t command_count = 0;
};

// Per op of the bundle's table (Command::op).
struct OpReport {
  int64_t macs = 0;
  int64_t matrix_busy_cycles = 0, vector_busy_cycles = 0, host_busy_cycles = 0;
  int64_t dram_read_bytes = 0, dram_write_bytes = 0;
  int64_t first_cycle = 0, last_cycle = 0;
};

struct SimReport {
  int64_t makespan_cycles = 0;
  std::vector<EngineReport> engines;
  std::vector<OpReport> ops;
  int64_t dram_read_bytes = 0, dram_write_bytes = 0;
  int64_t scratchpad_read_bytes = 0, scratchpad_write_bytes = 0;
  int64_t macs = 0;
  int64_t weighted_macs =
      0;  // macs x rate divisor of their dtype: int8 macs of the same array time
  int64_t command_count = 0;
  int64_t energy_picojoules = 0;
  std::vector<CommandTiming> commands;  // only with TimingOptions::record_commands, and so are:
  std::vector<std::vector<AccountSpan>> accounts;  // by engine
};

// Share of the array's full rate (of each command's dtype) over the makespan, 0..1.
double MatrixUtilization(const SimReport& report, int64_t int8_macs_per_cycle);

// One JSON object, one line, keys in a fixed order:
//   makespan_cycles, engines.{name}.{busy_cycles, idle_cycles, stall.{cause}_cycles,
//   command_count}, dram_read_bytes, dram_write_bytes, scratchpad_read_bytes,
//   scratchpad_write_bytes, macs, matrix_utilization, command_count, energy_picojoules
// where a dot is a nested object and every cause is present.
std::string ReportToJson(const SimReport& report, int64_t int8_macs_per_cycle);

}  // namespace berth
