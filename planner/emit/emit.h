// From commands over virtual buffers to the final tile program: addresses, slots, engines, waits.
#pragma once

#include <string>
#include <vector>

#include "planner/schedule/lower.h"
#include "planner/schedule/place.h"

namespace berth {

struct EmittedProgram {
  TileProgram program;
  std::vector<std::string> buffer_names;  // Slot::name
  std::vector<uint32_t> pool_slots;       // per storage buffer; kNoSlot: not in the pool, or unused
};

// Waits are derived from the final byte ranges (waits.h) and are minimal: dropping any one leaves
// two conflicting commands unordered.
EmittedProgram EmitProgram(const Graph& graph, const StoragePlan& storage,
                           const LoweredProgram& lowered, const ScratchpadPlan& scratchpad,
                           const NpuConfig& config);

}  // namespace berth
