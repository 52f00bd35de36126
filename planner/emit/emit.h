// From commands over virtual buffers to the final tile program: addresses, slots, engines, waits.
#pragma once

#include <string>
#include <vector>

#include "npu_sim/conflict_graph.h"
#include "planner/schedule/lower.h"
#include "planner/schedule/place.h"

namespace berth {

struct EmittedProgram {
  TileProgram program;
  ConflictGraph conflicts;
  std::vector<std::string> buffer_names;  // Slot::name
  std::vector<uint32_t> pool_slots;       // per storage buffer; kNoSlot: not in the pool, or unused
};

// Waits are derived from the final byte ranges (read after write, write after read, write after
// write) and are minimal: none is implied by queue order or by the others, so that dropping any one
// leaves two conflicting commands unordered.
EmittedProgram EmitProgram(const Graph& graph, const StoragePlan& storage,
                           const LoweredProgram& lowered, const ScratchpadPlan& scratchpad,
                           const NpuConfig& config);

}  // namespace berth
