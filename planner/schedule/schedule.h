// Tiles, prefetch order and scratchpad places, chosen together: the largest tiles and the deepest
// prefetch for which the placement fits.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "planner/emit/emit.h"
#include "planner/schedule/lower.h"
#include "planner/schedule/place.h"
#include "planner/schedule/schedule_progress.h"

namespace berth {

struct ScheduleOptions {
  bool double_buffer = true;       // off: one buffer per op and role
  bool hoist = true;               // loads ahead of the computation that needs them
  bool resident = true;            // values that stay in scratchpad between ops
  bool stripes = true;             // runs of ops computed part by part
  bool reorder = true;             // the order that keeps readers near is tried, too
  bool search = true;              // off: the first plan and the deepest prefetch that fit
  int64_t command_cycles = 0;      // LowerOptions: more for shorter programs
  size_t command_limit = 1000000;  // longer programs count as not fitting
  int64_t pool_budget_bytes = 0;   // 0: no limit
  StorageOptions storage;          // what stands where, before anything is on chip
  // Told how far the search is, by several threads, one at a time. Null: nobody asks.
  std::function<void(const ScheduleProgress&)> progress;
  StopConditions stop;
};

struct Schedule {
  bool is_reordered = false;
  OnChipPlan on_chip;
  StoragePlan storage;
  PoolPlan pool;
  LoweredProgram lowered;
  ScratchpadPlan scratchpad;
  EmittedProgram emitted;
  int64_t makespan_cycles = 0;  // of the program, simulated
  int64_t dram_cycles = 0;      // its bytes at the peak rate
  // How it was found: on_chip.segments with what else was tried (empty where nothing was), and the
  // plans that were timed.
  std::vector<SegmentInfo> segments;
  std::vector<ScheduleTrial> trials;

  // What the search minimises: bytes that are not moved save energy and leave room for others.
  int64_t Objective() const { return makespan_cycles + dram_cycles; }
};

// May permute the nodes of `graph` where another order keeps more on chip; `Schedule::is_reordered`
// tells. ResourceExhausted when not even the smallest tiles fit: names what is in the way and the
// smallest scratchpad that would do.
absl::StatusOr<Schedule> ScheduleProgram(Graph& graph, const NpuConfig& config,
                                         const ScheduleOptions& options);

}  // namespace berth
