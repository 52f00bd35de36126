// The machine's configuration: a value struct, read from JSON whose keys are the field names.
//
// Invariants of a config that Validate accepts:
//   - every figure is in the range of npu_sim/config_fields.h (the one place that names a field)
//   - all rates are integers or fixed point (millibytes per cycle, 3.75 B/cycle = 3750), so that
//     cycles are exact integers; only the energies are floating point, and no cycle depends on them
// A preset is a JSON file of npu_sim/presets, compiled into the library. A JSON file may say
// "extends": "PRESET" and then give only the keys in which it differs; without it each key is
// required. Sources of the figures: docs/machine.md and `calibrated_on` of each preset.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace berth {

enum class Dataflow {
  kWeightStationary,  // a fold holds K x N weights and streams M rows of activations
  kOutputStationary,  // a fold holds M x N outputs and streams K steps of both operands
};

// A fold is one filling of the array. It streams S steps (M weight-stationary, K output-stationary)
// each step rows * columns / int8_macs_per_cycle cycles, times the dtype's divisor.
// Not hidden, preload and fill_drain are added for each fold; hidden,
// preload overlaps the fold before (a fold then takes at least preload_cycles) and fill_drain is
// paid once for a run of back-to-back folds.
struct MatrixConfig {
  int64_t rows = 0;     // weight-stationary: along K; output-stationary: along M
  int64_t columns = 0;  // along N
  Dataflow dataflow = Dataflow::kWeightStationary;
  int64_t int8_macs_per_cycle = 0;            // of the full array; at most rows * columns
  int64_t depthwise_int8_macs_per_cycle = 0;  // when each output channel sees one input channel
  int64_t fp16_rate_divisor = 2;              // fp16 and bf16 take this many times int8's cycles
  int64_t fp32_rate_divisor = 4;
  bool fold_by_tap = false;    // a fold holds channels of one kernel tap, not a piece of the sum
  int64_t preload_cycles = 0;  // to put a fold's weights into the array
  // Steps of a fold behind which the next preload hides: those of its last chunk. 0: all.
  int64_t preload_chunk_steps = 0;
  bool preload_hidden = false;
  int64_t fill_drain_cycles = 0;  // skew: from the last operand in to the last result out
  bool fill_drain_hidden = false;
  int64_t count_offset_cycles = 0;  // added once per layer: -1 where the source counts from cycle 0
  int64_t output_port_millibytes_per_cycle = 0;  // finished results out of the accumulators
};

// Elements per cycle of a dtype = int8_lanes / bytes of the dtype, then divided by the class.
struct VectorConfig {
  int64_t int8_lanes = 0;
  int64_t simple_cycles_per_element = 1;       // add, multiply, compare, select, convert
  int64_t divide_cycles_per_element = 0;       // divide, square root, reciprocal
  int64_t exponential_cycles_per_element = 0;  // exp, log, erf, tanh, sigmoid, pow
  int64_t startup_cycles = 0;                  // per command, the pipeline's depth
};

// Bank of a byte: with bank_interleave_bytes 0, offset / (size_bytes / banks); otherwise
// (offset / bank_interleave_bytes) % banks. In a cycle each bank serves ports_per_bank accesses of
// port_bytes_per_cycle.
struct ScratchpadConfig {
  int64_t size_bytes = 0;
  int64_t banks = 0;
  int64_t bank_interleave_bytes = 0;
  int64_t port_bytes_per_cycle = 0;
  int64_t ports_per_bank = 0;
};

struct AccumulatorConfig {
  int64_t size_bytes = 0;  // of 32-bit words
  int64_t banks = 0;
};

struct DmaConfig {
  int64_t channels = 0;
  int64_t setup_cycles = 0;                        // per descriptor, before its first burst
  int64_t max_outstanding_bursts_per_channel = 0;  // limits latency-bound bandwidth
  int64_t max_dims = 0;                            // of a descriptor, 1 to 4
  int64_t max_extent = 0;                          // of each dimension of a descriptor
};

enum class DramModel {
  kFlat,    // peak rate and fixed latencies
  kBanked,  // rows, banks, bank groups, refresh: DramTiming
};

// Letters as in the source, high bits to low: row, channel, rank, bank, bank group, column.
enum class AddressMap {
  kRowBankGroupColumn,  // rochrababgco
  kRowColumnBankGroup,  // rochrabacobg
};

// Times in DRAM clocks of clock_ps each (the usual JEDEC names). Read only for kBanked.
struct DramTiming {
  int64_t clock_ps = 0;
  int64_t channels = 0;
  int64_t bus_bits_per_channel = 0;
  int64_t ranks = 0;
  int64_t bank_groups = 0;  // of a rank
  int64_t banks_per_group = 0;
  AddressMap address_map = AddressMap::kRowBankGroupColumn;
  int64_t channel_interleave_bytes = 0;  // consecutive bytes in one channel
  int64_t queue_bursts = 0;              // requests waiting in a channel's controller
  int64_t bank_queue_commands = 0;
  int64_t bursts_offered_per_clock = 0;
  int64_t burst_beats = 0;  // BL; two beats a clock
  int64_t cl = 0, cwl = 0, trcd = 0, trp = 0, tras = 0;
  int64_t tccd_s = 0, tccd_l = 0, trrd_s = 0, trrd_l = 0, tfaw = 0;
  int64_t twtr_s = 0, twtr_l = 0, twr = 0, trtp = 0;
  int64_t trtrs = 0;  // gap on the data bus when another rank, or the other side, drives it
  int64_t tppd = 0;   // from precharge to precharge, where the part asks for it
  int64_t trfc = 0, trefi = 0;
};

struct DramConfig {
  DramModel model = DramModel::kFlat;
  int64_t size_bytes = 0;
  int64_t peak_millibytes_per_cycle = 0;  // all channels; kBanked: agrees with `timing`
  int64_t read_latency_cycles = 0;        // of an idle read; kBanked: (tRCD + CL + BL/2 + 1) clocks
  int64_t write_latency_cycles = 0;  // of an idle write; kBanked: (tRCD + CWL + BL/2 + 1) clocks
  int64_t burst_bytes = 0;           // smallest transfer
  int64_t page_bytes = 0;            // of one channel's open row; kFlat: 0
  DramTiming timing;                 // "timing" in JSON, only for kBanked
};

// Work that no unit does: startup + bytes read and written at this rate.
struct HostConfig {
  int64_t millibytes_per_cycle = 0;
  int64_t startup_cycles = 0;
};

struct EnergyConfig {
  double dram_picojoules_per_byte = 0;
  double scratchpad_picojoules_per_byte = 0;
  double accumulator_picojoules_per_byte = 0;
  double int8_mac_picojoules = 0;
  double fp16_mac_picojoules = 0;
  double fp32_mac_picojoules = 0;
  double vector_picojoules_per_element = 0;
  double host_picojoules_per_byte = 0;
};

// How single layers (`berth layer`) are ordered on this machine. Whole models are always planned.
enum class LayerOrder {
  kPlanned,        // by our planner
  kKernelGroups,   // fixed-function core: input whole, then kernels group by group
  kOperandBlocks,  // square tiles of square blocks, sums innermost
};

// Read only for orders other than kPlanned.
struct NativeLayerConfig {
  int64_t stripe_steps = 0;            // outputs that the array finishes before it hands them on
  int64_t weight_alignment_bytes = 0;  // of all weights of a layer
};

struct NpuConfig {
  std::string name;
  std::string description;
  std::string calibrated_on;
  int64_t clock_mhz = 0;
  MatrixConfig matrix;
  VectorConfig vector;
  ScratchpadConfig scratchpad;
  AccumulatorConfig accumulator;
  DmaConfig dma;
  DramConfig dram;
  HostConfig host;
  EnergyConfig energy;
  LayerOrder layer_order = LayerOrder::kPlanned;
  NativeLayerConfig native_layer;  // only where layer_order is not "planned"
};

struct PresetInfo {
  std::string name;
  std::string description;
};

// Reads and validates. `where` (a file name) goes in front of every message, which names the key by
// its path ("dram.timing.cl"), the value found and the allowed range.
absl::StatusOr<NpuConfig> ParseNpuConfig(std::string_view json_text, std::string_view where);

// A preset's name, or a path that ends in ".json".
absl::StatusOr<NpuConfig> LoadTarget(std::string_view preset_or_path);

// Canonical JSON: all keys in the order of the fields. ParseNpuConfig(ToJson(c)) equals c.
std::string ToJson(const NpuConfig& config);

absl::Status Validate(const NpuConfig& config);

// In the order of their names.
std::vector<PresetInfo> ListPresets();

// XXH3 of the canonical JSON without name, description and calibrated_on: equal fingerprints mean
// equal machines.
uint64_t Fingerprint(const NpuConfig& config);

}  // namespace berth
