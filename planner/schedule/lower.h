// Every node of a scheduled graph as commands over virtual scratchpad buffers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/stop.h"
#include "kernels/tile_builder.h"
#include "planner/schedule/segment_lowering.h"
#include "planner/storage/storage.h"
#include "runtime/bundle/contents.h"

namespace berth {

// Positions of the regions in TileProgram::regions.
inline constexpr uint16_t kConstantsRegion = 0;
inline constexpr uint16_t kPoolRegion = 1;
inline uint16_t InputRegion(uint32_t index) { return static_cast<uint16_t>(2 + index); }
inline uint16_t OutputRegion(const Graph& graph, uint32_t index) {
  return static_cast<uint16_t>(2 + graph.inputs.size() + index);
}

// DRAM operands are final, except that their `slot` is a position in StoragePlan::buffers (pool)
// and kNoSlot elsewhere; scratchpad and accumulator operands are virtual (kernels/tile_builder.h).
struct LoweredProgram {
  std::vector<Command> commands;
  std::vector<VirtualBuffer> buffers;
  // The constants region: only what a command reads. It may be large, so copies share it.
  std::shared_ptr<std::vector<std::byte>> constants;
  int64_t constant_bytes = 0;  // of these, without what aligns them
  std::vector<OpInfo> ops;     // one per node, in order
};

struct LowerOptions {
  // Percent that the buffers of one tile should take of the scratchpad that resident values and
  // rows leave; where an op's smallest tile is larger, it may take all of the machine's (and then
  // has no room for double buffering).
  int64_t tile_percent = 45;
  int64_t command_cycles = 0;  // TileBudget::command_cycles
  // Tiles too small for the model make programs too long to be of use.
  size_t command_limit = 1000000;
  StopConditions stop;
};

// The storage must have been assigned with `on_chip`. ResourceExhausted names the node whose
// smallest tile does not fit, with needed and available bytes.
absl::StatusOr<LoweredProgram> LowerGraph(const Graph& graph, const StoragePlan& storage,
                                          const OnChipPlan& on_chip, const NpuConfig& config,
                                          const LowerOptions& options);

// A sample of one segment alone, resident buffers that it touches first; for costs.
struct SampledCommands {
  std::vector<Command> commands;
  std::vector<VirtualBuffer> buffers;
  SegmentSample sample;
};
absl::StatusOr<SampledCommands> SampleSegment(const Graph& graph, const StoragePlan& storage,
                                              SegmentTables& tables, const Segment& segment,
                                              const NpuConfig& config, const LowerOptions& options);

}  // namespace berth
