// The one table of NpuConfig's fields: JSON path, member and allowed range. Parsing, printing and
// validating are visitors of it, so that a field is named once.
//
// A visitor is callable as
//   (path, std::string&)   (path, bool&)   (path, enum&)
//   (path, int64_t&, min, max)   (path, double&, min, max)      ranges are inclusive
// with const references where Config is const. `path` is dotted, "dram.timing.cl".
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "npu_sim/config.h"

namespace berth::config_internal {

inline constexpr int64_t kMaxCycles = 1'000'000;
inline constexpr int64_t kMaxBytes = int64_t{1} << 40;
inline constexpr int64_t kMaxMillibytes = int64_t{1} << 30;  // about 1 MB a cycle
inline constexpr double kMaxPicojoules = 1e6;

// Names in JSON, in the order of the enumerators.
inline constexpr std::array<std::string_view, 2> EnumNames(Dataflow) {
  return {"weight_stationary", "output_stationary"};
}
inline constexpr std::array<std::string_view, 2> EnumNames(DramModel) { return {"flat", "banked"}; }
inline constexpr std::array<std::string_view, 3> EnumNames(LayerOrder) {
  return {"planned", "kernel_groups", "operand_blocks"};
}
inline constexpr std::array<std::string_view, 2> EnumNames(AddressMap) {
  return {"row_bank_group_column", "row_column_bank_group"};
}

template <typename Config, typename Visitor>
void VisitIdentity(Config& c, Visitor&& visit) {
  visit("name", c.name);
  visit("description", c.description);
  visit("calibrated_on", c.calibrated_on);
}

template <typename Config, typename Visitor>
void VisitEngines(Config& c, Visitor&& visit) {
  visit("matrix.rows", c.matrix.rows, 1, 4096);
  visit("matrix.columns", c.matrix.columns, 1, 4096);
  visit("matrix.dataflow", c.matrix.dataflow);
  visit("matrix.int8_macs_per_cycle", c.matrix.int8_macs_per_cycle, 1, 4096 * 4096);
  visit("matrix.depthwise_int8_macs_per_cycle", c.matrix.depthwise_int8_macs_per_cycle, 1,
        4096 * 4096);
  visit("matrix.fp16_rate_divisor", c.matrix.fp16_rate_divisor, 1, 64);
  visit("matrix.fp32_rate_divisor", c.matrix.fp32_rate_divisor, 1, 64);
  visit("matrix.fold_by_tap", c.matrix.fold_by_tap);
  visit("matrix.preload_cycles", c.matrix.preload_cycles, 0, kMaxCycles);
  visit("matrix.preload_hidden", c.matrix.preload_hidden);
  visit("matrix.preload_chunk_steps", c.matrix.preload_chunk_steps, 0, kMaxCycles);
  visit("matrix.fill_drain_cycles", c.matrix.fill_drain_cycles, 0, kMaxCycles);
  visit("matrix.fill_drain_hidden", c.matrix.fill_drain_hidden);
  visit("matrix.count_offset_cycles", c.matrix.count_offset_cycles, -1, 1);
  visit("matrix.output_port_millibytes_per_cycle", c.matrix.output_port_millibytes_per_cycle, 1,
        kMaxMillibytes);
  visit("vector.int8_lanes", c.vector.int8_lanes, 8, 65536);
  visit("vector.simple_cycles_per_element", c.vector.simple_cycles_per_element, 1, 256);
  visit("vector.divide_cycles_per_element", c.vector.divide_cycles_per_element, 1, 256);
  visit("vector.exponential_cycles_per_element", c.vector.exponential_cycles_per_element, 1, 256);
  visit("vector.startup_cycles", c.vector.startup_cycles, 0, kMaxCycles);
  visit("host.millibytes_per_cycle", c.host.millibytes_per_cycle, 1, kMaxMillibytes);
  visit("host.startup_cycles", c.host.startup_cycles, 0, kMaxCycles);
}

template <typename Config, typename Visitor>
void VisitOnChipMemory(Config& c, Visitor&& visit) {
  visit("scratchpad.size_bytes", c.scratchpad.size_bytes, 1024, kMaxBytes);
  visit("scratchpad.banks", c.scratchpad.banks, 1, 1024);
  visit("scratchpad.bank_interleave_bytes", c.scratchpad.bank_interleave_bytes, 0, kMaxBytes);
  visit("scratchpad.port_bytes_per_cycle", c.scratchpad.port_bytes_per_cycle, 1, 65536);
  visit("scratchpad.ports_per_bank", c.scratchpad.ports_per_bank, 1, 16);
  visit("accumulator.size_bytes", c.accumulator.size_bytes, 64, kMaxBytes);
  visit("accumulator.banks", c.accumulator.banks, 1, 1024);
}

template <typename Config, typename Visitor>
void VisitDramTiming(Config& t, Visitor&& visit) {
  visit("dram.timing.clock_ps", t.clock_ps, 1, 1'000'000);
  visit("dram.timing.channels", t.channels, 1, 64);
  visit("dram.timing.bus_bits_per_channel", t.bus_bits_per_channel, 8, 4096);
  visit("dram.timing.ranks", t.ranks, 1, 16);
  visit("dram.timing.bank_groups", t.bank_groups, 1, 64);
  visit("dram.timing.banks_per_group", t.banks_per_group, 1, 64);
  visit("dram.timing.address_map", t.address_map);
  visit("dram.timing.channel_interleave_bytes", t.channel_interleave_bytes, 1, kMaxBytes);
  visit("dram.timing.queue_bursts", t.queue_bursts, 1, 4096);
  visit("dram.timing.bank_queue_commands", t.bank_queue_commands, 1, 4096);
  visit("dram.timing.bursts_offered_per_clock", t.bursts_offered_per_clock, 1, 64);
  visit("dram.timing.burst_beats", t.burst_beats, 2, 64);
  visit("dram.timing.cl", t.cl, 1, 1000);
  visit("dram.timing.cwl", t.cwl, 1, 1000);
  visit("dram.timing.trcd", t.trcd, 1, 1000);
  visit("dram.timing.trp", t.trp, 1, 1000);
  visit("dram.timing.tras", t.tras, 1, 1000);
  visit("dram.timing.tccd_s", t.tccd_s, 1, 1000);
  visit("dram.timing.tccd_l", t.tccd_l, 1, 1000);
  visit("dram.timing.trrd_s", t.trrd_s, 1, 1000);
  visit("dram.timing.trrd_l", t.trrd_l, 1, 1000);
  visit("dram.timing.tfaw", t.tfaw, 1, 1000);
  visit("dram.timing.twtr_s", t.twtr_s, 1, 1000);
  visit("dram.timing.twtr_l", t.twtr_l, 1, 1000);
  visit("dram.timing.twr", t.twr, 1, 1000);
  visit("dram.timing.trtp", t.trtp, 1, 1000);
  visit("dram.timing.trtrs", t.trtrs, 0, 1000);
  visit("dram.timing.tppd", t.tppd, 0, 1000);
  visit("dram.timing.trfc", t.trfc, 1, 100'000);
  visit("dram.timing.trefi", t.trefi, 1, 1'000'000);
}

template <typename Config, typename Visitor>
void VisitDram(Config& c, Visitor&& visit) {
  visit("dma.channels", c.dma.channels, 1, 64);
  visit("dma.setup_cycles", c.dma.setup_cycles, 0, kMaxCycles);
  visit("dma.max_outstanding_bursts_per_channel", c.dma.max_outstanding_bursts_per_channel, 1,
        65536);
  visit("dma.max_dims", c.dma.max_dims, 1, 4);
  visit("dma.max_extent", c.dma.max_extent, 1, int64_t{1} << 32);
  visit("dram.model", c.dram.model);
  visit("dram.size_bytes", c.dram.size_bytes, 4096, int64_t{1} << 48);
  visit("dram.peak_millibytes_per_cycle", c.dram.peak_millibytes_per_cycle, 1, kMaxMillibytes);
  visit("dram.read_latency_cycles", c.dram.read_latency_cycles, 0, kMaxCycles);
  visit("dram.write_latency_cycles", c.dram.write_latency_cycles, 0, kMaxCycles);
  visit("dram.burst_bytes", c.dram.burst_bytes, 1, 65536);
  visit("dram.page_bytes", c.dram.page_bytes, 0, kMaxBytes);
  // The model has been visited, so a parsing visitor has set it by now.
  if (c.dram.model == DramModel::kBanked) VisitDramTiming(c.dram.timing, visit);
}

template <typename Config, typename Visitor>
void VisitEnergy(Config& c, Visitor&& visit) {
  auto& e = c.energy;
  visit("energy.dram_picojoules_per_byte", e.dram_picojoules_per_byte, 0, kMaxPicojoules);
  visit("energy.scratchpad_picojoules_per_byte", e.scratchpad_picojoules_per_byte, 0,
        kMaxPicojoules);
  visit("energy.accumulator_picojoules_per_byte", e.accumulator_picojoules_per_byte, 0,
        kMaxPicojoules);
  visit("energy.int8_mac_picojoules", e.int8_mac_picojoules, 0, kMaxPicojoules);
  visit("energy.fp16_mac_picojoules", e.fp16_mac_picojoules, 0, kMaxPicojoules);
  visit("energy.fp32_mac_picojoules", e.fp32_mac_picojoules, 0, kMaxPicojoules);
  visit("energy.vector_picojoules_per_element", e.vector_picojoules_per_element, 0, kMaxPicojoules);
  visit("energy.host_picojoules_per_byte", e.host_picojoules_per_byte, 0, kMaxPicojoules);
}

template <typename Config, typename Visitor>
void VisitLayerOrder(Config& c, Visitor&& visit) {
  visit("layer_order", c.layer_order);
  if (c.layer_order == LayerOrder::kPlanned) return;
  visit("native_layer.stripe_steps", c.native_layer.stripe_steps, 1, kMaxCycles);
  visit("native_layer.weight_alignment_bytes", c.native_layer.weight_alignment_bytes, 1, 65536);
}

// Everything that decides how the machine behaves.
template <typename Config, typename Visitor>
void VisitMachine(Config& c, Visitor&& visit) {
  visit("clock_mhz", c.clock_mhz, 1, 100'000);
  VisitEngines(c, visit);
  VisitOnChipMemory(c, visit);
  VisitDram(c, visit);
  VisitEnergy(c, visit);
  VisitLayerOrder(c, visit);
}

template <typename Config, typename Visitor>
void VisitFields(Config& c, Visitor&& visit) {
  VisitIdentity(c, visit);
  VisitMachine(c, visit);
}

}  // namespace berth::config_internal
