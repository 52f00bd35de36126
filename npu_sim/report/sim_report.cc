#include "npu_sim/sim_report.h"

#include <nlohmann/json.hpp>

#include "npu_sim/program.h"

namespace berth {

std::string_view StallCauseName(StallCause cause) {
  switch (cause) {
    case StallCause::kNone:
      return "none";
    case StallCause::kDependencyDma:
      return "dependency_dma";
    case StallCause::kDependencyMatrix:
      return "dependency_matrix";
    case StallCause::kDependencyVector:
      return "dependency_vector";
    case StallCause::kDependencyHost:
      return "dependency_host";
    case StallCause::kBankConflict:
      return "bank_conflict";
    case StallCause::kBandwidth:
      return "bandwidth";
    case StallCause::kLatency:
      return "latency";
    case StallCause::kQueueEmpty:
      return "queue_empty";
  }
  return "none";
}

double MatrixUtilization(const SimReport& report, int64_t int8_macs_per_cycle) {
  const double offered =
      static_cast<double>(report.makespan_cycles) * static_cast<double>(int8_macs_per_cycle);
  return offered > 0 ? static_cast<double>(report.weighted_macs) / offered : 0;
}

std::string ReportToJson(const SimReport& report, int64_t int8_macs_per_cycle) {
  nlohmann::ordered_json json;
  json["makespan_cycles"] = report.makespan_cycles;
  nlohmann::ordered_json& engines = json["engines"] = nlohmann::ordered_json::object();
  for (const EngineReport& engine : report.engines) {
    nlohmann::ordered_json& entry = engines[EngineName(engine.engine)];
    entry["busy_cycles"] = engine.busy_cycles;
    entry["idle_cycles"] = engine.idle_cycles;
    for (int cause = 1; cause < kStallCauseCount; ++cause) {
      const std::string key(StallCauseName(static_cast<StallCause>(cause)));
      entry["stall"][key + "_cycles"] = engine.stall_cycles[static_cast<size_t>(cause)];
    }
    entry["command_count"] = engine.command_count;
  }
  json["dram_read_bytes"] = report.dram_read_bytes;
  json["dram_write_bytes"] = report.dram_write_bytes;
  json["scratchpad_read_bytes"] = report.scratchpad_read_bytes;
  json["scratchpad_write_bytes"] = report.scratchpad_write_bytes;
  json["macs"] = report.macs;
  json["matrix_utilization"] = MatrixUtilization(report, int8_macs_per_cycle);
  json["command_count"] = report.command_count;
  json["energy_picojoules"] = report.energy_picojoules;
  return json.dump();
}

}  // namespace berth
