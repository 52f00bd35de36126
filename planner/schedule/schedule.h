// Tiles, prefetch order and scratchpad places, chosen together: the largest tiles and the deepest
// prefetch for which the placement fits.
#pragma once

#include <optional>

#include "planner/schedule/lower.h"
#include "planner/schedule/place.h"

namespace berth {

struct ScheduleOptions {
  bool double_buffer = true;       // off: one buffer per op and role
  bool hoist = true;               // loads ahead of the computation that needs them
  size_t command_limit = 1000000;  // longer programs count as not fitting
};

struct Schedule {
  LoweredProgram lowered;
  ScratchpadPlan scratchpad;
  int64_t tile_budget_bytes = 0;
  int64_t hoist_limit_bytes = 0;  // 0: loads stand where they were lowered
};

// ResourceExhausted when not even the smallest tiles fit: names what is in the way and the smallest
// scratchpad that would do.
absl::StatusOr<Schedule> ScheduleProgram(const Graph& graph, const StoragePlan& storage,
                                         const NpuConfig& config, const ScheduleOptions& options);

}  // namespace berth
