// From a plan of what is on chip to a timed program: the stages that the search over plans
// (schedule.h) repeats.
#pragma once

#include "planner/schedule/schedule.h"
#include "planner/schedule/search_monitor.h"

namespace berth {

// Programs of more commands take seconds to place and time again and again: fewer depths and plans
// are tried.
inline constexpr size_t kLongProgram = 6000;

// Storage and pool with a plan of what is on chip.
absl::StatusOr<Schedule> BeginSchedule(const Graph& graph, OnChipPlan on_chip,
                                       const ScheduleOptions& options);

// The commands of a plan that is begun. `tile_percent`: LowerOptions.
absl::StatusOr<Schedule> LowerSchedule(const Graph& graph, const NpuConfig& config,
                                       const ScheduleOptions& options, Schedule begun,
                                       int64_t tile_percent);

// Loads hoisted as far as `limit_bytes` goes, and every buffer placed.
absl::StatusOr<Schedule> PlaceSchedule(const Schedule& lowered, const NpuConfig& config,
                                       const ScheduleOptions& options, int64_t limit_bytes);

// What every stage of one attempt needs.
struct ScheduleAttempt {
  const Graph& graph;
  const NpuConfig& config;
  const ScheduleOptions& options;
  SearchMonitor& monitor;
};

// Emitted and timed: the fastest of several depths of prefetch, since the deepest has the bytes
// change hands the soonest. `trial` says of what; `trials` gets one for every depth, of which the
// fastest is chosen.
absl::StatusOr<Schedule> TryDepths(const ScheduleAttempt& attempt, const Schedule& lowered,
                                   ScheduleTrial trial, std::vector<ScheduleTrial>& trials);

}  // namespace berth
