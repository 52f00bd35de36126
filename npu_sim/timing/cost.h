// Everything that timing needs to know of one command, from the command and the machine alone.
#pragma once

#include <cstdint>

#include "npu_sim/command.h"
#include "npu_sim/config.h"
#include "npu_sim/timing/dram.h"

namespace berth::timing {

struct CommandCost {
  // On its own engine: lead and drain may overlap the neighbours' steady part (matrix unit only).
  int64_t lead_cycles = 0, steady_cycles = 0, drain_cycles = 0;
  int64_t bank_conflict_cycles = 0;  // part of steady, due to operands that share a bank
  // DMA: set-up, then the transfer; `uses_dram` is false for a fill of scratchpad.
  int64_t setup_cycles = 0;
  bool uses_dram = false;
  DramTransfer dram;

  int64_t macs = 0, rate_divisor = 1;
  int64_t scratchpad_read_bytes = 0, scratchpad_write_bytes = 0, accumulator_bytes = 0;
  int64_t vector_elements = 0, host_bytes = 0;

  int64_t total_cycles() const { return setup_cycles + lead_cycles + steady_cycles + drain_cycles; }
};

class CostModel {
 public:
  // `config` outlives the model.
  explicit CostModel(const NpuConfig& config) : config_(config), dram_(config) {}

  CommandCost Cost(const Command& command) const;
  const DramCost& dram() const { return dram_; }
  const NpuConfig& config() const { return config_; }

 private:
  CommandCost MatrixCommand(const Command& command) const;
  CommandCost VectorCommand(const Command& command) const;
  CommandCost DmaCommand(const Command& command) const;
  CommandCost HostCommand(const Command& command) const;

  const NpuConfig& config_;
  DramCost dram_;
};

}  // namespace berth::timing
