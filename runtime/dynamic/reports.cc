#include "runtime/dynamic/reports.h"

#include "base/checked_math.h"
#include "npu_sim/program.h"

namespace berth {
namespace {

void AddEngine(const EngineReport& part, EngineReport& total) {
  total.busy_cycles += part.busy_cycles;
  total.idle_cycles += part.idle_cycles;
  total.command_count += part.command_count;
  for (size_t cause = 0; cause < part.stall_cycles.size(); ++cause) {
    total.stall_cycles[cause] += part.stall_cycles[cause];
  }
}

}  // namespace

void AddReport(const SimReport& part, SimReport& total) {
  if (total.engines.empty()) {
    total = part;
    return;
  }
  total.makespan_cycles += part.makespan_cycles;
  for (size_t i = 0; i < total.engines.size() && i < part.engines.size(); ++i) {
    AddEngine(part.engines[i], total.engines[i]);
  }
  total.dram_read_bytes += part.dram_read_bytes;
  total.dram_write_bytes += part.dram_write_bytes;
  total.scratchpad_read_bytes += part.scratchpad_read_bytes;
  total.scratchpad_write_bytes += part.scratchpad_write_bytes;
  total.macs += part.macs;
  total.weighted_macs += part.weighted_macs;
  total.command_count += part.command_count;
  total.energy_picojoules += part.energy_picojoules;
  total.ops.clear();
  total.commands.clear();
}

SimReport HostReport(int64_t bytes, const NpuConfig& config) {
  SimReport report;
  report.makespan_cycles =
      config.host.startup_cycles + CeilDiv(bytes * 1000, config.host.millibytes_per_cycle);
  for (const EngineId& id : CoreEngines(static_cast<int>(config.dma.channels))) {
    EngineReport engine;
    engine.engine = id;
    if (id.kind == EngineKind::kHost) {
      engine.busy_cycles = report.makespan_cycles;
      engine.command_count = 1;
    } else {
      engine.stall_cycles[static_cast<size_t>(StallCause::kDependencyHost)] =
          report.makespan_cycles;
    }
    report.engines.push_back(engine);
  }
  report.command_count = 1;
  return report;
}

}  // namespace berth
